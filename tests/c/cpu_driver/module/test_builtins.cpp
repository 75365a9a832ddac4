// SPDX-License-Identifier: Apache-2.0
//
// Modules that import sub-group builtins: alone, linked with others, as native binaries; imports that nobody
// has. What the builtins compute is checked in tests/isa/test_cpu_builtins.py.
#include "ze_test.h"

#include <random>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

using Code = std::vector<uint8_t>;
constexpr int lanes = 16, groups = 2, rows = 2, depth = 32;

/// Creates a module; several inputs are linked.
static ze_result_t create(const std::vector<Code> &codes, ze_module_handle_t *module,
                          std::string *log = nullptr, ze_module_format_t format = ZE_MODULE_FORMAT_IL_SPIRV,
                          const ze_module_constants_t *constants = nullptr, const char *flags = nullptr) {
    std::vector<size_t> sizes;
    std::vector<const uint8_t *> inputs;
    for (const Code &code : codes) {
        sizes.push_back(code.size());
        inputs.push_back(code.data());
    }
    ze_module_program_exp_desc_t program{};
    program.stype = ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC;
    program.count = uint32_t(codes.size());
    program.inputSizes = sizes.data();
    program.pInputModules = inputs.data();
    ze_module_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
    desc.pNext = codes.size() > 1 ? &program : nullptr;
    desc.format = format;
    desc.inputSize = sizes[0];
    desc.pInputModule = inputs[0];
    desc.pConstants = constants;
    desc.pBuildFlags = flags;
    ze_module_build_log_handle_t handle = nullptr;
    ze_result_t result = ze.zeModuleCreate(context, device, &desc, module, &handle);
    std::string text = take_log(handle);
    if (log)
        *log = text;
    return result;
}

struct Operands {
    int8_t a[groups][lanes][rows][2]; // two neighbours in K of each row
    int8_t b[groups][lanes][depth];   // a column
    int32_t acc[groups][lanes][rows];
};

static void check_multiply(ze_module_handle_t module, int factor,
                           int (*expected)(const Operands &, int, int, int)) {
    const auto o = shared<Operands>(sizeof(Operands));
    std::mt19937 random(5);
    for (size_t i = 0; i < sizeof *o; i++)
        reinterpret_cast<uint8_t *>(&*o)[i] = uint8_t(random());
    const Operands before = *o;
    const auto kernel = make_kernel(module, "multiply");
    const auto list = immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    set_args(kernel, &o->a, &o->b, &o->acc);
    launch(list, kernel, 1, groups * lanes);
    for (int g = 0; g < groups; g++)
        for (int n = 0; n < lanes; n++)
            for (int m = 0; m < rows; m++)
                CHECK(o->acc[g][n][m] == int32_t(uint32_t(expected(before, g, n, m)) * uint32_t(factor)));
}

static int product(const Operands &o, int g, int n, int m) {
    uint32_t sum = uint32_t(o.acc[g][n][m]);
    for (int k = 0; k < depth; k++)
        sum += uint32_t(o.a[g][k / 2][m][k % 2] * o.b[g][n][k]);
    return int(sum);
}

static int plus_1000(const Operands &o, int g, int n, int m) {
    return int(uint32_t(o.acc[g][n][m]) + 1000u);
}

static void alone(const Code &code) {
    Owned<ze_module_handle_t> module;
    OK(create({code}, &module));
    check_multiply(module, 1, product);
    module.end();
    const int seven = 7;
    const uint32_t id = 3;
    const void *value = &seven;
    const ze_module_constants_t constants{1, &id, &value};
    OK(create({code}, &module, nullptr, ZE_MODULE_FORMAT_IL_SPIRV, &constants));
    check_multiply(module, 7, product);
    module.end();
    for (const char *flags :
         {"-ze-opt-disable", "-g", "-cl-mad-enable", "-cl-denorms-are-zero", "-cl-no-signed-zeros",
          "-cl-finite-math-only", "-cl-unsafe-math-optimizations", "-cl-fast-relaxed-math",
          "-cl-no-subgroup-ifp", "-ze-opt-large-register-file", "-cl-std=CL3.0"}) {
        std::string log;
        ze_result_t result = create({code}, &module, &log, ZE_MODULE_FORMAT_IL_SPIRV, nullptr, flags);
        if (result != ZE_RESULT_SUCCESS)
            std::printf("%s: %s\n", flags, log.c_str());
        OK(result);
        check_multiply(module, 1, product);
        module.end();
    }
}

static void native(const Code &code) {
    ze_module_handle_t module = nullptr, again = nullptr;
    OK(create({code}, &module));
    const Code binary = native_of(module);
    OK(ze.zeModuleDestroy(module));
    OK(create({binary}, &again, nullptr, ZE_MODULE_FORMAT_NATIVE));
    check_multiply(again, 1, product);
    OK(ze.zeModuleDestroy(again));
}

/// The driver compiles each set of builtins once in the process. Four threads need the same one at
/// once.
static void in_threads(const Code &code) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&code, i] {
            const int factor = i + 2;
            const uint32_t id = 3;
            const void *value = &factor;
            const ze_module_constants_t constants{1, &id, &value};
            Owned<ze_module_handle_t> module;
            OK(create({code}, &module, nullptr, ZE_MODULE_FORMAT_IL_SPIRV, &constants));
            check_multiply(module, factor, product);
        });
    for (std::thread &thread : threads)
        thread.join();
}

static void linked(const Code &code) {
    const Code library = read_file("library.spv"), importer = read_file("builtins_importer.spv");
    Owned<ze_module_handle_t> module, own;
    OK(create({library, code, importer}, &module));
    check_multiply(module, 1, product);
    const auto a = shared<int>(lanes * sizeof(int));
    for (int i = 0; i < lanes; i++)
        a[i] = i;
    const auto kernel = make_kernel(module, "multiply_more");
    const auto list = immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    set_arg(kernel, 0, a);
    launch(list, kernel, 1, lanes);
    for (int i = 0; i < lanes; i++)
        CHECK(a[i] == (i + depth * 2) * 3 + 1);
    OK(create({read_file("builtins_own.spv"), code}, &own));
    check_multiply(own, 1, plus_1000);
}

static void refused() {
    ze_module_handle_t module = nullptr;
    std::string log;
    // The runtime's log names all symbols that it lacks. The driver's sentence names only those
    // that the driver lacks, too.
    const std::string sentence =
        "the module imports imported, which neither the OpenCL runtime nor this driver has";
    for (const char *file : {"builtins_importer.spv", "importer.spv"}) {
        OK(create({read_file(file)}, &module, &log));
        CHECK(log.find(sentence) != std::string::npos);
        ze_kernel_desc_t desc{ZE_STRUCTURE_TYPE_KERNEL_DESC, nullptr, 0, "use_imported"};
        ze_kernel_handle_t kernel = nullptr;
        CHECK_RESULT(ze.zeKernelCreate(module, &desc, &kernel), ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED);
        OK(ze.zeModuleDestroy(module));
    }
    CHECK_RESULT(create({read_file("builtins_wrong.spv")}, &module, &log),
                 ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
    CHECK(log.find("as i32(i32), which is i32x2(i16x2,i32x8,i32x2)") != std::string::npos);
}

/// Replaces each character of the imported name in turn, also by characters with a meaning in C.
static void damaged_names(const Code &code) {
    const std::string name = "_Z36intel_sub_group_i8_i8_matrix_mad_k32Dv2_sDv8_iDv2_i";
    std::mt19937 random(9);
    const std::string others = "0123456789_DSPvsijthcfKU\"\\\n \xff\x01%+-";
    ze_module_handle_t module = nullptr;
    for (size_t at = 0; at < name.size(); at++) {
        std::string other = name;
        while (other == name)
            other[at] = others[random() % others.size()];
        Code damaged = code;
        int found = 0;
        for (size_t i = 0; i + name.size() <= damaged.size(); i++)
            if (std::memcmp(&damaged[i], name.data(), name.size()) == 0) {
                std::memcpy(&damaged[i], other.data(), other.size());
                found++;
            }
        CHECK(found >= 1);
        std::string log;
        if (create({damaged}, &module, &log) == ZE_RESULT_SUCCESS) // i4_i8 has the same types
            OK(ze.zeModuleDestroy(module));
        CHECK(!log.empty());
    }
}

/// A current directory in which nothing can be read: who opens one of these pipes waits for ever.
class DeafFolder {
public:
    DeafFolder() {
        CHECK(mkdtemp(path_) && chdir(path_) == 0);
        for (const char *name : names)
            CHECK(mkfifo(name, 0600) == 0);
    }
    ~DeafFolder() {
        for (const char *name : names)
            unlink(name);
        rmdir(path_);
    }

private:
    // The runtime's configuration, and what its compiler of OpenCL C looks for.
    static constexpr const char *names[] = {"cl.cfg", "modules.idx"};
    char path_[24] = "/tmp/ze-cpu-deaf-XXXXXX";
};

int main(int argc, char **argv) {
    const DeafFolder folder;
    open_driver(argc, argv);
    const Code code = read_file("builtins.spv");
    in_threads(code);
    alone(code);
    native(code);
    linked(code);
    refused();
    damaged_names(code);
    std::puts("ok");
}
