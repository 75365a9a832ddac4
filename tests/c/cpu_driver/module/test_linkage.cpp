// SPDX-License-Identifier: Apache-2.0
// Variables and functions of modules by their names, and modules that are linked after their creation.
#include "ze_test.h"

using Code = std::vector<uint8_t>;

static Owned<ze_module_handle_t>
create(const Code &code, ze_module_format_t format = ZE_MODULE_FORMAT_IL_SPIRV, std::string *log = nullptr) {
    ze_module_handle_t module = nullptr;
    std::string text;
    const ze_result_t result = build(code, &module, &text, format);
    if (result != ZE_RESULT_SUCCESS)
        std::printf("%s\n", text.c_str());
    OK(result);
    if (log)
        *log = text;
    return Owned(module);
}

/// Replaces a module by one that is made of its native binary.
static void reload(Owned<ze_module_handle_t> &module) {
    const Code binary = native_of(module);
    module.end();
    module = create(binary, ZE_MODULE_FORMAT_NATIVE);
}

static ze_result_t link(std::vector<ze_module_handle_t> modules, std::string *log = nullptr) {
    ze_module_build_log_handle_t handle = nullptr;
    const ze_result_t result = ze.zeModuleDynamicLink(uint32_t(modules.size()), modules.data(), &handle);
    const std::string text = take_log(handle);
    if (log)
        *log = text;
    return result;
}

static bool has_imports(ze_module_handle_t module) {
    const auto properties = filled(ZE_STRUCTURE_TYPE_MODULE_PROPERTIES, ze.zeModuleGetProperties, module);
    return properties.flags & ZE_MODULE_PROPERTY_FLAG_IMPORTS;
}

static ze_result_t try_kernel(ze_module_handle_t module, const char *name) {
    ze_kernel_desc_t desc{ZE_STRUCTURE_TYPE_KERNEL_DESC, nullptr, 0, name};
    ze_kernel_handle_t kernel = nullptr;
    return ze.zeKernelCreate(module, &desc, &kernel);
}

static int *pointer_to(ze_module_handle_t module, const char *name, size_t expected_size) {
    size_t size = 0;
    auto pointer = got(ze.zeModuleGetGlobalPointer, module, name, &size);
    CHECK(size == expected_size && pointer);
    return static_cast<int *>(pointer);
}

static void globals(bool from_native) {
    auto module = load_module("link_exporter.spv"), second = load_module("link_exporter.spv");
    if (from_native)
        reload(module);
    int *counter = pointer_to(module, "counter", 4), *table = pointer_to(module, "table", 16);
    CHECK(*counter == 40 && table[0] == 1 && table[3] == 4);
    CHECK(pointer_to(module, "exported_constants", 8)[1] == 9);
    CHECK(pointer_to(module, "counter", 4) == counter);
    // Kernels see what the host writes, and copies write there, too. Another module has variables of its own.
    *counter = 7;
    const int nine = 9;
    const auto list = immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    append(ze.zeCommandListAppendMemoryCopy, list, table + 3, &nine, sizeof nine);
    const std::vector<int> seen = run(module, "read_exporter");
    CHECK(seen[0] == 7 && seen[1] == 0 && seen[2] == 9);
    CHECK(*pointer_to(second, "counter", 4) == 40);
    auto pointer = got(ze.zeModuleGetGlobalPointer, module, "counter", nullptr);
    CHECK(pointer == counter);
    size_t size = 0;
    OK(ze.zeModuleGetGlobalPointer(module, "table", &size, nullptr));
    CHECK(size == 16);
    for (const char *name : {"no_such_variable", "exported_add", "read_exporter", "calls", ""})
        REFUSED(INVALID_GLOBAL_NAME, ze.zeModuleGetGlobalPointer(module, name, &size, &pointer));
    REFUSED(INVALID_NULL_POINTER, ze.zeModuleGetGlobalPointer(module, nullptr, &size, &pointer));
    CHECK(!has_imports(module));
}

/// Calls a function that counts its calls in a variable of its module. Functions that the runtime
/// would call wrongly are refused.
static void function_pointers(bool from_native) {
    auto module = load_module("link_exporter.spv"), caller = load_module("call_pointer.spv");
    if (from_native)
        reload(module);
    void *function = nullptr, *again = nullptr;
    OK(ze.zeModuleGetFunctionPointer(module, "doubled_plus_one", &function));
    OK(ze.zeModuleGetFunctionPointer(module, "doubled_plus_one", &again));
    CHECK(function && function == again);
    const int n = 64;
    const auto out = shared<int>(n * sizeof(int));
    const auto kernel = make_kernel("call_pointer", caller);
    const auto list = immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    set_args(kernel, function, out);
    launch(list, kernel, 4, n / 4);
    for (int i = 0; i < n; i++)
        CHECK(out[i] == 2 * i + 1);
    CHECK(run(module, "read_exporter")[1] == n);
    for (const char *name : {"no_such_function", "read_exporter", "counter"})
        REFUSED(INVALID_FUNCTION_NAME, ze.zeModuleGetFunctionPointer(module, name, &function));
    for (const char *name : {"with_id", "calls_with_id", "with_barrier", "with_printf"}) {
        REFUSED(UNSUPPORTED_FEATURE, ze.zeModuleGetFunctionPointer(module, name, &function));
        SAYS(name);
    }
    REFUSED(INVALID_NULL_POINTER, ze.zeModuleGetFunctionPointer(module, "doubled_plus_one", nullptr));
}

/// Kernels of one module call functions of another. The variables of each exist once.
static void two_modules(bool from_native) {
    std::string log;
    auto exporter = load_module("link_exporter.spv"),
         importer = create(read_file("link_importer.spv"), ZE_MODULE_FORMAT_IL_SPIRV, &log);
    const std::string sentence =
        "the module imports counter, exported_add, exported_constants, table, which neither";
    CHECK(log.find(sentence) != std::string::npos);
    if (from_native) {
        reload(exporter);
        reload(importer);
    }
    CHECK(has_imports(importer) && !has_imports(exporter));
    REFUSED(INVALID_MODULE_UNLINKED, try_kernel(importer, "use"));
    CHECK(last_refusal().find(sentence) == 0);
    uint32_t count = 0;
    OK(ze.zeModuleGetKernelNames(importer, &count, nullptr));
    std::vector<const char *> names(count);
    OK(ze.zeModuleGetKernelNames(importer, &count, names.data()));
    CHECK(count == 2);
    int *own = pointer_to(importer, "own", 4);
    CHECK(*own == 6);
    *own = 60;

    REFUSED(MODULE_LINK_FAILURE, link({importer}, &log));
    CHECK(log.find("imports exported_add, which none of the modules exports") != std::string::npos);
    REFUSED(INVALID_MODULE_UNLINKED, try_kernel(importer, "use"));
    const auto second = load_module("link_exporter.spv");
    REFUSED(MODULE_LINK_FAILURE, link({exporter, importer, second}, &log));
    CHECK(log.find("imports exported_add, which several of the modules export") != std::string::npos);

    OK(link({importer, exporter, exporter}, &log));
    CHECK(log.find("module 0 imports exported_add from module 1") != std::string::npos);
    CHECK(std::string(names[0]) != names[1]); // the names stay valid
    for (int round = 1; round <= 2; round++) {
        const std::vector<int> out = run(importer, "use");
        CHECK(out[0] == 2 + 3 + 30);
        CHECK(out[1] == 40 + round && *pointer_to(exporter, "counter", 4) == 40 + round);
        CHECK(out[2] == 3 + 9 && out[3] == 2000 && out[4] == 5 + round + 60);
        const std::vector<int> seen = run(exporter, "read_exporter");
        CHECK(seen[0] == 40 + round && seen[1] == round);
    }
    CHECK(pointer_to(importer, "own", 4) == own);
    CHECK(run(importer, "common")[0] == 2001 && run(exporter, "common")[0] == 1001);
    OK(link({importer, exporter})); // linking again changes nothing
    CHECK(run(importer, "use")[1] == 43);
    if (from_native) { // the binary of a linked module has to be linked again
        reload(importer);
        REFUSED(INVALID_MODULE_UNLINKED, try_kernel(importer, "use"));
        OK(link({importer, exporter}));
        CHECK(run(importer, "use")[1] == 44);
    }
    exporter.end(); // the importer keeps what it is linked with
    CHECK(run(importer, "use")[1] == (from_native ? 45 : 44));
}

/// A library that needs another library, whose module is destroyed before its use. Two modules that
/// need each other.
TEST(many_modules) {
    auto middle = load_module("link_middle.spv"), leaf = load_module("link_leaf.spv"),
         user = load_module("link_user.spv"), other = load_module("link_other.spv");
    CHECK(has_imports(middle) && !has_imports(leaf) && has_imports(user) && has_imports(other));
    void *function = nullptr;
    REFUSED(INVALID_MODULE_UNLINKED, ze.zeModuleGetFunctionPointer(middle, "middle", &function));
    OK(link({middle, leaf}));
    OK(ze.zeModuleGetFunctionPointer(middle, "middle", &function));
    leaf.end();
    OK(link({other, user, middle}));
    CHECK(run(user, "use_library", 5)[0] == 210);
    CHECK(run(user, "use_library", 7)[0] == 224);
    CHECK(run(user, "use_other", 5)[0] == 15 && run(other, "use_user", 5)[0] == 6);
    middle.end();
    CHECK(run(user, "use_library", 0)[0] == 224);
}

static std::string inspect(std::vector<ze_module_handle_t> modules, uint32_t flags) {
    ze_linkage_inspection_ext_desc_t desc{ZE_STRUCTURE_TYPE_LINKAGE_INSPECTION_EXT_DESC, nullptr, flags};
    ze_module_build_log_handle_t log = nullptr;
    OK(ze.zeModuleInspectLinkageExt(&desc, uint32_t(modules.size()), modules.data(), &log));
    return take_log(log);
}

TEST(inspection) {
    const auto middle = load_module("link_middle.spv"), leaf = load_module("link_leaf.spv");
    const uint32_t imports = ZE_LINKAGE_INSPECTION_EXT_FLAG_IMPORTS,
                   unresolvable = ZE_LINKAGE_INSPECTION_EXT_FLAG_UNRESOLVABLE_IMPORTS,
                   exports = ZE_LINKAGE_INSPECTION_EXT_FLAG_EXPORTS;
    CHECK(inspect({middle}, imports | unresolvable) == "unresolvable imports of module 0: leaf\n");
    CHECK(inspect({middle, leaf}, imports | unresolvable) == "imports of module 0: leaf\n");
    CHECK(inspect({middle, leaf}, exports) == "exports of module 0: middle\nexports of module 1: leaf\n");
    OK(link({middle, leaf}));
    CHECK(inspect({middle}, imports | unresolvable) == "imports of module 0: leaf\n");
    CHECK(inspect({middle}, 0).empty());
    ze_linkage_inspection_ext_desc_t desc{ZE_STRUCTURE_TYPE_LINKAGE_INSPECTION_EXT_DESC, nullptr, 8};
    ze_module_build_log_handle_t log = nullptr;
    REFUSED(INVALID_ENUMERATION, ze.zeModuleInspectLinkageExt(&desc, 1, &middle, &log));
}

TEST(by_name) {
    for (const bool from_native : {false, true}) {
        globals(from_native);
        function_pointers(from_native);
        two_modules(from_native);
    }
    REFUSED(INVALID_NULL_POINTER, ze.zeModuleDynamicLink(1, nullptr, nullptr));
}
