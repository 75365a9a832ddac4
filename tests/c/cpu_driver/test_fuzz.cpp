// SPDX-License-Identifier: Apache-2.0
//
// Damaged SPIR-V must be refused or built, never crash. Each case runs in a process of its own; argument 2 is
// the number of cases, 3 the seed, 4 the file. What the driver lets pass goes to the OpenCL runtime, so
// crashes are counted apart by where they are: in our reader none is allowed.
#include <csignal>
#include <ctime>
#include <random>

#include <sys/wait.h>
#include <unistd.h>

#include "ze_test.h"

enum Outcome { built, refused, crashed, hung };

static Outcome attempt(const std::vector<uint8_t> &code) {
    ze_module_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
    desc.format = ZE_MODULE_FORMAT_IL_SPIRV;
    desc.inputSize = code.size();
    desc.pInputModule = code.data();
    ze_module_handle_t module = nullptr;
    ze_module_build_log_handle_t log = nullptr;
    ze_result_t result = ze.zeModuleCreate(context, device, &desc, &module, &log);
    if (log)
        OK(ze.zeModuleBuildLogDestroy(log));
    return result == ZE_RESULT_SUCCESS ? built : refused;
}

int main(int argc, char **argv) {
    const int cases = argc > 2 ? std::atoi(argv[2]) : 40;
    std::mt19937 random(argc > 3 ? unsigned(std::atoi(argv[3])) : 1u);
    std::vector<uint8_t> original = read_file(argc > 4 ? argv[4] : "importer.spv");
    int counts[4] = {};
    for (int i = 0; i < cases; i++) {
        auto code = original;
        const int flips = 1 + int(random() % 3);
        std::string what;
        for (int f = 0; f < flips; f++) {
            size_t at = random() % code.size();
            uint8_t value = random() % 2 ? uint8_t(code[at] ^ (1u << random() % 8)) : uint8_t(random());
            what += " [" + std::to_string(at) + "]=" + std::to_string(value);
            code[at] = value;
        }
        std::fflush(stdout);
        pid_t child = fork(); // before the runtime is opened: its threads would not survive a fork
        if (child == 0) {
            if (!std::freopen("/dev/null", "w", stderr))
                _exit(3);
            alarm(30);
            open_driver(argc, argv);
            _exit(attempt(code));
        }
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child);
        Outcome outcome = WIFEXITED(status) && WEXITSTATUS(status) <= refused  ? Outcome(WEXITSTATUS(status))
                          : WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? hung
                                                                               : crashed;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
            return 77;
        counts[outcome]++;
        if (outcome >= crashed)
            std::printf("case %d %s (status %d):%s\n", i, outcome == hung ? "hung" : "crashed", status,
                        what.c_str());
    }
    std::printf("built %d, refused %d, crashed %d, hung %d\n", counts[built], counts[refused],
                counts[crashed], counts[hung]);
    return counts[crashed] || counts[hung];
}
