// SPDX-License-Identifier: Apache-2.0
// The Level Zero runtime layer alone, with real kernels.
//   test_ze_runtime cpu|gpu ze_runtime.spv ze_runtime_broken.spv
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "check.h"
#include "common/error.hpp"
#include "ze/buffer.hpp"
#include "ze/device.hpp"
#include "ze/module.hpp"
#include "ze/module_cache.hpp"
#include "ze/stream.hpp"

using namespace zemm::ze;

namespace {

template <typename F> zemm::error caught(F &&body) {
    try {
        body();
    } catch (const zemm::error &e) {
        return e;
    }
    return {zemm_success, ""};
}

constexpr uint32_t count = 1 << 16;
std::vector<uint8_t> program, broken;

spirv binary() {
    return {"ze_runtime", program, "1"};
}

std::vector<uint8_t> bytes_of(const char *path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(file), {});
    CHECK(!bytes.empty());
    return bytes;
}

void scale_add(stream &s, kernel &k, void *out, void *in, int addend) {
    const kernel_argument arguments[] = {
        {sizeof(void *), &out}, {sizeof(void *), &in}, {sizeof addend, &addend}};
    s.launch(k, {64, 1, 1}, {count / 64, 1, 1}, arguments);
}

void test_modules(const std::shared_ptr<device> &dev) {
    const auto first = get_kernel(dev, binary(), "scale_add", {{0, 5}}, "");
    CHECK(first->built_now && first->handle());
    const auto again = get_kernel(dev, binary(), "scale_add", {{0, 5}}, "");
    CHECK(again.get() == first.get() && !again->built_now);
    const auto other = get_kernel(dev, binary(), "scale_add", {{0, 6}}, "");
    CHECK(other.get() != first.get() && other->built_now);
    const auto sibling = get_kernel(dev, binary(), "slow_fill", {{0, 5}}, "");
    CHECK(sibling.get() != first.get() && !sibling->built_now);

    for (const auto &[binary, entry] :
         {std::pair(binary(), "no_such_entry"), {{"ze_runtime_broken", broken, "3"}, "broken"}}) {
        const zemm::error e = caught([&] { get_kernel(dev, binary, entry, {}, ""); });
        CHECK(e.status() == zemm_runtime_error && std::strstr(e.what(), binary.name) &&
              std::strstr(e.what(), entry));
        std::printf("  %s\n", e.what());
    }
}

void test_eviction(const std::shared_ptr<device> &dev) {
    module_cache cache(2);
    auto get = [&](uint32_t factor) { return cache.get(*dev, binary(), "scale_add", {{0, factor}}, ""); };
    const auto first = get(1), second = get(2);
    CHECK(get(1) == first && !first->built_now); // now the second is the oldest
    get(3);
    CHECK(get(1) == first);
    CHECK(get(2) != second); // evicted and built again; the old kernel is still alive, because it is in use
    CHECK(second->handle());
}

void test_scratchpad(const std::shared_ptr<device> &dev) {
    stream s(dev, false);
    CHECK(!s.scratchpad(0));
    void *small = s.scratchpad(1 << 10);
    CHECK(small && s.scratchpad(1 << 9) == small);
    const auto k = get_kernel(dev, binary(), "scale_add", {}, "");
    void *middle = s.scratchpad(count * sizeof(int));
    scale_add(s, *k, middle, middle, 0);
    void *large = s.scratchpad(1 << 22);
    CHECK(large != middle && usm_bytes_from(*dev, middle)); // kept until the launch has run
    s.wait();
    CHECK(s.scratchpad(1) == large);
}

void test_profiling(const std::shared_ptr<device> &dev) {
    const auto slow = get_kernel(dev, binary(), "slow_fill", {}, "");
    const auto quick = get_kernel(dev, binary(), "scale_add", {}, "");
    const buffer a(dev, count * sizeof(int), usm::device);
    stream s(dev, true);
    const auto in_entry = [&](auto &&...launches) {
        s.begin_entry();
        (launches(), ...);
        s.end_entry();
    };
    const auto add = [&] { scale_add(s, *quick, a.data(), a.data(), 0); };
    const auto fill = [&] {
        void *out = a.data();
        const int n = count, value = 1;
        const kernel_argument arguments[] = {{sizeof out, &out}, {sizeof n, &n}, {sizeof value, &value}};
        s.launch(*slow, {1, 1, 1}, {1, 1, 1}, arguments);
    };
    for (const size_t entries : {2, 302}) { // more events than one pool has
        CHECK(s.entry_count() == 0);
        while (s.entry_count() < entries - 2)
            in_entry(add);
        in_entry(fill, add);
        in_entry();
        add(); // outside of an entry, so not counted
        CHECK(s.entry_count() == entries);
        const std::vector<uint64_t> times = s.times();
        CHECK(times.size() == entries && times[entries - 1] == 0 && times[0] > 0);
        CHECK(times[entries - 2] > 100'000 && times[entries - 2] < 60'000'000'000);
        s.reset_profiling();
    }
    const kernel_argument nonsense[] = {{3, "ab"}};
    std::printf("  argument of 3 bytes: %s\n", caught([&] {
                                                   s.launch(*slow, {1, 1, 1}, {1, 1, 1}, nonsense);
                                               }).what());
}

using create_list = decltype(&zeCommandListCreateImmediate);
create_list real_create_list = nullptr;
ze_result_t first_answer = ZE_RESULT_SUCCESS; // the result of the first call; later calls reach the driver
int create_calls = 0;

ze_result_t answer_first(ze_context_handle_t context, ze_device_handle_t handle,
                         const ze_command_queue_desc_t *desc, ze_command_list_handle_t *list) {
    if (create_calls++ == 0 && first_answer != ZE_RESULT_SUCCESS)
        return first_answer;
    return real_create_list(context, handle, desc, list);
}

// Only a driver that does not know the in-order flag is asked a second time, without the flag.
void test_in_order_flag(const std::shared_ptr<device> &dev) {
    if (!dev->has_api(7))
        return;
    auto &function = const_cast<create_list &>(dev->fn.zeCommandListCreateImmediate);
    real_create_list = function;
    function = answer_first;
    const struct {
        ze_result_t answer;
        zemm_status_t status;
        int calls;
    } cases[] = {{ZE_RESULT_SUCCESS, zemm_success, 1},
                 {ZE_RESULT_ERROR_INVALID_ENUMERATION, zemm_success, 2},
                 {ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, zemm_out_of_memory, 1},
                 {ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, zemm_out_of_memory, 1},
                 {ZE_RESULT_ERROR_DEVICE_LOST, zemm_runtime_error, 1}};
    for (const auto &c : cases) {
        first_answer = c.answer;
        create_calls = 0;
        CHECK(caught([&] { stream made(dev, false); }).status() == c.status);
        CHECK(create_calls == c.calls);
    }
    function = real_create_list;
}

} // namespace

int main(int argc, char **argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (argc != 4)
        return 2;
    const zemm_engine_kind_t kind = std::strcmp(argv[1], "gpu") ? zemm_cpu : zemm_gpu;
    program = bytes_of(argv[2]);
    broken = bytes_of(argv[3]);

    std::string why;
    const size_t devices = device_count(kind, why);
    if (!devices) {
        std::printf("no %s: %s\n", argv[1], why.c_str());
        CHECK(caught([&] { open_device(kind, 0); }).status() == zemm_invalid_arguments);
        return 77; // skipped
    }
    const zemm::error e = caught([&] { open_device(kind, devices); });
    CHECK(e.status() == zemm_invalid_arguments);
    std::printf("%s\n", e.what());
    const std::shared_ptr<device> dev = open_device(kind, 0);
    CHECK(dev == open_device(kind, 0) && dev->kind == kind);
    const std::pair<const char *, void (*)(const std::shared_ptr<device> &)> tests[] = {
        {"modules", test_modules},
        {"eviction", test_eviction},
        {"scratchpad", test_scratchpad},
        {"profiling", test_profiling},
        {"in-order flag", test_in_order_flag}};
    for (const auto &[name, test] : tests) {
        std::printf("%s\n", name);
        test(dev);
    }
    return 0;
}
