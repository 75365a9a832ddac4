// SPDX-License-Identifier: Apache-2.0
#include "ze_test.h"

#include <atomic>
#include <csignal>
#include <fstream>
#include <map>
#include <mutex>

#include <dlfcn.h>

Functions ze;
bool direct = false;
void *driver_library = nullptr;
ze_driver_handle_t driver = nullptr;
ze_device_handle_t device = nullptr;
ze_context_handle_t context = nullptr;
ze_command_list_handle_t list = nullptr;
ze_init_flags_t first_init_flags = 0;

namespace {

/// Before main: a test neither ignores nor blocks signals, whatever its parent does (nohup, CI systems).
[[gnu::constructor]] void take_default_signals() {
    for (int number = 1; number < NSIG; number++) {
        struct sigaction found {};
        if (sigaction(number, nullptr, &found) == 0 && found.sa_handler == SIG_IGN)
            signal(number, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
}

using Getter = ze_result_t (*)(ze_api_version_t, void *);

void take_from_tables() {
    void *table[128] = {}, **slot = table;
#define ZE_CPU_TABLE(getter)                                                                                 \
    slot = table;                                                                                            \
    OK(reinterpret_cast<Getter>(dlsym(driver_library, #getter))(                                             \
        ze_api_version_t(ZE_MAKE_VERSION(1, ze_cpu::newest_minor)), table));
#define ZE_CPU_HAS(minor, name) ze.name = reinterpret_cast<decltype(ze.name)>(*slot++);
#define ZE_CPU_NEWER(minor, name) ZE_CPU_HAS(minor, name)
#define ZE_CPU_LACKS(minor, name) slot++;
#define ZE_CPU_END
#define ZE_CPU_EMPTY(getter)
#include "border/tables.def"
}

void *loader = nullptr;

void take_from_loader() {
#define ZE_CPU_HAS(minor, name)                                                                              \
    ze.name = reinterpret_cast<decltype(ze.name)>(dlsym(loader, #name));                                     \
    CHECK(ze.name);
#define ZE_CPU_NEWER(minor, name) ze.name = reinterpret_cast<decltype(ze.name)>(dlsym(loader, #name));
#include "functions.def"
}

/// Asks the driver for the functions that an old loader does not export.
void ask_driver() {
#define ZE_CPU_HAS(minor, name)
#define ZE_CPU_NEWER(minor, name)                                                                            \
    if (!ze.name)                                                                                            \
        ze.name =                                                                                            \
            reinterpret_cast<decltype(ze.name)>(got(ze.zeDriverGetExtensionFunctionAddress, driver, #name));
#include "functions.def"
}

/// Skips the test if the OpenCL runtime is missing. Loaders hide why a driver refuses, so this asks
/// the driver itself.
void skip_without_opencl() {
    const char *library = std::getenv("ZE_CPU_TEST_LIBRARY");
    const UnopenedDriver itself(library ? library : "libze_cpu.so");
    if (itself.init(0) == ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE) {
        std::printf("skipped: %s\n", itself.why());
        std::exit(77);
    }
}

} // namespace

UnopenedDriver::UnopenedDriver(const char *path) : library(dlopen(path, RTLD_NOW)) {
    CHECK(library);
    const auto getter = reinterpret_cast<Getter>(dlsym(library, "zeGetGlobalProcAddrTable"));
    void *table[8] = {};
    OK(getter(ZE_API_VERSION_1_0, table));
    init = reinterpret_cast<decltype(&zeInit)>(table[0]);
    why = reinterpret_cast<const char *(*)()>(dlsym(library, "zeCpuGetLastError"));
}

long resident_kb() {
    long all = 0, pages = 0;
    std::ifstream("/proc/self/statm") >> all >> pages;
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

void open_driver(int argc, char **argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    direct = argc < 2 || std::string(argv[1]) == "direct";
    if (direct) {
        const char *library = std::getenv("ZE_CPU_TEST_LIBRARY");
        driver_library = dlopen(library ? library : "libze_cpu.so", RTLD_NOW | RTLD_LOCAL);
        if (!driver_library)
            std::printf("%s\n", dlerror());
        CHECK(driver_library);
        take_from_tables();
    } else {
        const char *name = std::getenv("ZE_CPU_TEST_LOADER");
        loader = dlopen(name ? name : "libze_loader.so.1", RTLD_NOW);
        if (!loader) {
            std::printf("skipped: there is no Level Zero loader here (%s)\n", dlerror());
            std::exit(77);
        }
        take_from_loader();
    }
    ze_result_t result = ze.zeInit(first_init_flags);
    if (result != ZE_RESULT_SUCCESS)
        skip_without_opencl();
    OK(result);
    uint32_t count = 0;
    OK(ze.zeDriverGet(&count, nullptr));
    std::vector<ze_driver_handle_t> drivers(count);
    OK(ze.zeDriverGet(&count, drivers.data()));
    for (ze_driver_handle_t candidate : drivers) {
        uint32_t one = 1;
        ze_driver_properties_t properties{};
        properties.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
        if (ze.zeDriverGetProperties(candidate, &properties) == ZE_RESULT_SUCCESS &&
            std::memcmp(properties.uuid.id, "ze-cpu-driver-01", sizeof properties.uuid.id) == 0 &&
            ze.zeDeviceGet(candidate, &one, &device) == ZE_RESULT_SUCCESS && one) {
            driver = candidate;
            break;
        }
    }
    CHECK(driver);
    ask_driver();
    const ze_context_desc_t desc{ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
    context = got(ze.zeContextCreate, driver, &desc);
}

std::string last_refusal() {
    // Loaders have a sentence of their own.
    static const auto ask = reinterpret_cast<decltype(ze.zeDriverGetLastErrorDescription)>(
        got(ze.zeDriverGetExtensionFunctionAddress, driver, "zeDriverGetLastErrorDescription"));
    return got(ask, driver);
}

std::vector<uint8_t> read_file(const std::string &name) {
    const char *folder = std::getenv("ZE_CPU_TEST_DIR");
    const std::string path = std::string(folder ? folder : ".") + "/" + name;
    FILE *file = std::fopen(path.c_str(), "rb");
    if (!file)
        std::printf("cannot read %s\n", path.c_str());
    CHECK(file);
    std::vector<uint8_t> data;
    for (int c; (c = std::fgetc(file)) != EOF;)
        data.push_back(uint8_t(c));
    std::fclose(file);
    return data;
}

Owned<ze_module_handle_t> load_module(const char *file) {
    ze_module_handle_t module = nullptr;
    OK(build(read_file(file), &module));
    return Owned(module);
}

ze_module_handle_t loaded(const char *file) {
    static std::mutex lock;
    static auto &modules =
        *new std::map<std::string, ze_module_handle_t>; // never destroyed, like the modules
    const std::lock_guard hold(lock);
    ze_module_handle_t &module = modules[file];
    if (!module)
        module = load_module(file).release();
    return module;
}

static ze_result_t create(const ze_module_desc_t &desc, ze_module_handle_t *module, std::string *log) {
    ze_module_build_log_handle_t handle = nullptr;
    const ze_result_t result = ze.zeModuleCreate(context, device, &desc, module, log ? &handle : nullptr);
    if (log)
        *log = take_log(handle);
    return result;
}

ze_result_t build(const std::vector<uint8_t> &code, ze_module_handle_t *module, std::string *log,
                  ze_module_format_t format, const char *flags, const ze_module_constants_t *constants) {
    return create(
        {ZE_STRUCTURE_TYPE_MODULE_DESC, nullptr, format, code.size(), code.data(), flags, constants}, module,
        log);
}

ze_result_t build_linked(const std::vector<std::vector<uint8_t>> &codes, ze_module_handle_t *module,
                         std::string *log) {
    std::vector<size_t> sizes;
    std::vector<const uint8_t *> inputs;
    for (const std::vector<uint8_t> &code : codes) {
        sizes.push_back(code.size());
        inputs.push_back(code.data());
    }
    auto program = of_type<ze_module_program_exp_desc_t>(ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC);
    program.count = uint32_t(codes.size());
    program.inputSizes = sizes.data();
    program.pInputModules = inputs.data();
    // Layers check the first input here, drivers ignore it.
    return create({ZE_STRUCTURE_TYPE_MODULE_DESC, &program, ZE_MODULE_FORMAT_IL_SPIRV, sizes[0], inputs[0],
                   nullptr, nullptr},
                  module, log);
}

std::vector<int> run(ze_module_handle_t module, const char *name, int value) {
    const auto out = zeros<int>(8 * sizeof(int));
    out[0] = value;
    const auto kernel = make_kernel(name, module);
    const auto list = immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    set_arg(kernel, 0, out);
    launch(list, kernel, 1, 1);
    return {&out[0], &out[8]};
}

std::string take_log(ze_module_build_log_handle_t log) {
    if (!log)
        return "";
    size_t size = 0;
    OK(ze.zeModuleBuildLogGetString(log, &size, nullptr));
    CHECK(size >= 1);
    std::vector<char> text(size);
    OK(ze.zeModuleBuildLogGetString(log, &size, text.data()));
    CHECK(text.back() == '\0');
    OK(ze.zeModuleBuildLogDestroy(log));
    return text.data();
}

std::vector<uint8_t> native_of(ze_module_handle_t module) {
    size_t size = 0;
    OK(ze.zeModuleGetNativeBinary(module, &size, nullptr));
    std::vector<uint8_t> binary(size);
    OK(ze.zeModuleGetNativeBinary(module, &size, binary.data()));
    return binary;
}

Owned<ze_kernel_handle_t> make_kernel(const char *name, ze_module_handle_t module) {
    const ze_kernel_desc_t desc{ZE_STRUCTURE_TYPE_KERNEL_DESC, nullptr, 0, name};
    return made(ze.zeKernelCreate, module, &desc);
}

static ze_command_queue_desc_t queue_desc(ze_command_queue_mode_t mode) {
    auto desc = of_type<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
    desc.mode = mode;
    return desc;
}

Owned<ze_command_list_handle_t> immediate_list(ze_command_queue_mode_t mode) {
    const auto desc = queue_desc(mode);
    return made(ze.zeCommandListCreateImmediate, context, device, &desc);
}

Owned<ze_command_list_handle_t> regular_list() {
    const ze_command_list_desc_t desc{ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, 0, 0};
    return made(ze.zeCommandListCreate, context, device, &desc);
}

Owned<ze_command_queue_handle_t> make_queue(ze_command_queue_mode_t mode) {
    const auto desc = queue_desc(mode);
    return made(ze.zeCommandQueueCreate, context, device, &desc);
}

Owned<ze_event_pool_handle_t> make_pool(uint32_t count, ze_event_pool_flags_t flags, const void *next) {
    const ze_event_pool_desc_t desc{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, next, flags, count};
    return made(ze.zeEventPoolCreate, context, &desc, 1u, &device);
}

Owned<ze_event_handle_t> make_event(ze_event_pool_handle_t pool, uint32_t index) {
    const ze_event_desc_t desc{ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, index, ZE_EVENT_SCOPE_FLAG_HOST,
                               ZE_EVENT_SCOPE_FLAG_HOST};
    return made(ze.zeEventCreate, pool, &desc);
}

Owned<ze_event_handle_t> make_event() {
    constexpr uint32_t size = 1024;
    static const ze_event_pool_handle_t pool = make_pool(size).release();
    static std::atomic<uint32_t> next{0};
    return make_event(pool, next++ % size);
}

void *allocate(ze_memory_type_t type, size_t size, size_t alignment) {
    const ze_device_mem_alloc_desc_t on_device{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
    const ze_host_mem_alloc_desc_t on_host{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
    if (type == ZE_MEMORY_TYPE_HOST)
        return got(ze.zeMemAllocHost, context, &on_host, size, alignment);
    if (type == ZE_MEMORY_TYPE_DEVICE)
        return got(ze.zeMemAllocDevice, context, &on_device, size, alignment, device);
    return got(ze.zeMemAllocShared, context, &on_device, &on_host, size, alignment, device);
}

ze_memory_allocation_properties_t properties_of(const void *memory, void *next, ze_device_handle_t *owner) {
    auto properties =
        of_type<ze_memory_allocation_properties_t>(ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES, next);
    OK(ze.zeMemGetAllocProperties(context, memory, &properties, owner));
    return properties;
}

uint64_t device_time() {
    uint64_t host = 0;
    return got(ze.zeDeviceGetGlobalTimestamps, device, &host);
}

void launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel, uint32_t groups, uint32_t group_size,
            ze_event_handle_t signal, std::vector<ze_event_handle_t> waits) {
    OK(ze.zeKernelSetGroupSize(kernel, group_size, 1, 1));
    ze_group_count_t count{groups, 1, 1};
    OK(ze.zeCommandListAppendLaunchKernel(list, kernel, &count, signal, uint32_t(waits.size()),
                                          waits.empty() ? nullptr : waits.data()));
}

const volatile int *spin(ze_command_list_handle_t list, int rounds, ze_event_handle_t signal) {
    static int out[1];
    out[0] = 0;
    const auto kernel = make_kernel("spin");
    set_args(kernel, &out[0], rounds);
    launch(list, kernel, 1, 1, signal);
    return out;
}

void finish(ze_command_list_handle_t list) {
    OK(ze.zeCommandListHostSynchronize(list, UINT64_MAX));
}
