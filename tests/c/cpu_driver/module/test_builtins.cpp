// SPDX-License-Identifier: Apache-2.0
// Modules that import sub-group builtins: alone, linked with others, as native binaries; imports that nobody
// has. What the builtins compute is checked in tests/isa/test_cpu_builtins.py.
#include "in_threads.hpp"
#include "ze_test.h"

#include <random>

#include <sys/stat.h>

using Code = std::vector<uint8_t>;
constexpr int lanes = 16, groups = 2, rows = 2, depth = 32;

/// The current directory of all tests here, in which nothing can be read: who opens one of these pipes waits
/// for ever.
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
static const DeafFolder folder;

struct Operands {
    int8_t a[groups][lanes][rows][2]; // two neighbours in K of each row
    int8_t b[groups][lanes][depth];   // a column
    int32_t acc[groups][lanes][rows];
};

static const Code &builtins() {
    static const Code code = read_file("builtins.spv");
    return code;
}

static void check_multiply(ze_module_handle_t module, int factor,
                           int (*expected)(const Operands &, int, int, int)) {
    const auto o = shared<Operands>(sizeof(Operands));
    std::mt19937 random(5);
    for (size_t i = 0; i < sizeof *o; i++)
        reinterpret_cast<uint8_t *>(&*o)[i] = uint8_t(random());
    const Operands before = *o;
    const auto kernel = make_kernel("multiply", module);
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

TEST(alone) {
    Owned<ze_module_handle_t> module;
    OK(build(builtins(), &module));
    check_multiply(module, 1, product);
    module.end();
    const int seven = 7;
    const uint32_t id = 3;
    const void *value = &seven;
    const ze_module_constants_t constants{1, &id, &value};
    OK(build(builtins(), &module, nullptr, ZE_MODULE_FORMAT_IL_SPIRV, nullptr, &constants));
    check_multiply(module, 7, product);
    module.end();
    for (const char *flags :
         {"-ze-opt-disable", "-g", "-cl-mad-enable", "-cl-denorms-are-zero", "-cl-no-signed-zeros",
          "-cl-finite-math-only", "-cl-unsafe-math-optimizations", "-cl-fast-relaxed-math",
          "-cl-no-subgroup-ifp", "-ze-opt-large-register-file", "-cl-std=CL3.0"}) {
        std::string log;
        ze_result_t result = build(builtins(), &module, &log, ZE_MODULE_FORMAT_IL_SPIRV, flags);
        if (result != ZE_RESULT_SUCCESS)
            std::printf("%s: %s\n", flags, log.c_str());
        OK(result);
        check_multiply(module, 1, product);
        module.end();
    }
}

TEST(native) {
    ze_module_handle_t module = nullptr, again = nullptr;
    OK(build(builtins(), &module));
    const Code binary = native_of(module);
    OK(ze.zeModuleDestroy(module));
    OK(build(binary, &again, nullptr, ZE_MODULE_FORMAT_NATIVE));
    check_multiply(again, 1, product);
    OK(ze.zeModuleDestroy(again));
}

/// The driver compiles each set of builtins once in the process. Four threads need the same one at once.
TEST(in_threads) {
    in_threads(4, [](int i) {
        const int factor = i + 2;
        const uint32_t id = 3;
        const void *value = &factor;
        const ze_module_constants_t constants{1, &id, &value};
        Owned<ze_module_handle_t> module;
        OK(build(builtins(), &module, nullptr, ZE_MODULE_FORMAT_IL_SPIRV, nullptr, &constants));
        check_multiply(module, factor, product);
    });
}

/// Calls a builtin and a function of another module.
static void check_multiply_more(ze_module_handle_t module) {
    const auto a = shared<int>(lanes * sizeof(int));
    for (int i = 0; i < lanes; i++)
        a[i] = i;
    const auto kernel = make_kernel("multiply_more", module);
    const auto list = immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    set_arg(kernel, 0, a);
    launch(list, kernel, 1, lanes);
    for (int i = 0; i < lanes; i++)
        CHECK(a[i] == (i + depth * 2) * 3 + 1);
}

/// Linked when the module is created, and later.
TEST(linked) {
    Owned<ze_module_handle_t> module, own;
    OK(build_linked({read_file("library.spv"), builtins(), read_file("builtins_importer.spv")}, &module));
    check_multiply(module, 1, product);
    check_multiply_more(module);
    OK(build_linked({read_file("builtins_own.spv"), builtins()}, &own));
    check_multiply(own, 1, plus_1000);
    const auto importer = load_module("builtins_importer.spv"), library = load_module("library.spv");
    ze_module_handle_t both[] = {importer, library};
    OK(ze.zeModuleDynamicLink(2, both, nullptr));
    check_multiply_more(importer);
}

TEST(refused) {
    ze_module_handle_t module = nullptr;
    std::string log;
    // The runtime's log names all symbols that it lacks. The driver's sentence names only those
    // that the driver lacks, too.
    const std::string sentence =
        "the module imports imported, which neither the OpenCL runtime nor this driver has";
    for (const char *file : {"builtins_importer.spv", "importer.spv"}) {
        OK(build(read_file(file), &module, &log));
        CHECK(log.find(sentence) != std::string::npos);
        ze_kernel_desc_t desc{ZE_STRUCTURE_TYPE_KERNEL_DESC, nullptr, 0, "use_imported"};
        ze_kernel_handle_t kernel = nullptr;
        REFUSED(INVALID_MODULE_UNLINKED, ze.zeKernelCreate(module, &desc, &kernel));
        OK(ze.zeModuleDestroy(module));
    }
    REFUSED(MODULE_BUILD_FAILURE, build(read_file("builtins_wrong.spv"), &module, &log));
    CHECK(log.find("as i32(i32), which is i32x2(i16x2,i32x8,i32x2)") != std::string::npos);
}

/// Replaces each character of the imported name in turn, also by characters with a meaning in C.
TEST(damaged_names) {
    const std::string name = "_Z36intel_sub_group_i8_i8_matrix_mad_k32Dv2_sDv8_iDv2_i";
    std::mt19937 random(9);
    const std::string others = "0123456789_DSPvsijthcfKU\"\\\n \xff\x01%+-";
    ze_module_handle_t module = nullptr;
    for (size_t at = 0; at < name.size(); at++) {
        std::string other = name;
        while (other == name)
            other[at] = others[random() % others.size()];
        Code damaged = builtins();
        int found = 0;
        for (size_t i = 0; i + name.size() <= damaged.size(); i++)
            if (std::memcmp(&damaged[i], name.data(), name.size()) == 0) {
                std::memcpy(&damaged[i], other.data(), other.size());
                found++;
            }
        CHECK(found >= 1);
        std::string log;
        if (build(damaged, &module, &log) == ZE_RESULT_SUCCESS) // i4_i8 has the same types
            OK(ze.zeModuleDestroy(module));
        CHECK(!log.empty());
    }
}
