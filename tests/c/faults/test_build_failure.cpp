// SPDX-License-Identifier: Apache-2.0
// The driver fails to build a module. The driver is the CPU driver, except that it refuses the
// modules that each section names. Linked with libzemm's objects, which identify the SPIR-V.
//   test_build_failure refusing_driver.so
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "destroy.h"
#include "matmul/plan/plan.hpp"
#include "primitive/spirv.hpp"
#include "refusing_driver.h"

namespace {

// ---- the driver

std::set<std::string> refused; // names of SPIR-V modules
bool only_adding = false;      // whether only modules in STAGE_ADD_RANGES are refused
ze_result_t answer = ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
std::atomic<int> refusals, refused_kernels;
constexpr char log_text[] = "error: no such builtin\nin function matmul\n";

refusal judge_module(const ze_module_desc_t &desc) {
    for (const std::string &name : refused) {
        const zemm::ze::spirv binary = zemm::find_spirv(name);
        if (binary.words.size() != desc.inputSize ||
            std::memcmp(binary.words.data(), desc.pInputModule, desc.inputSize))
            continue;
        uint32_t stage = zemm::kernels::STAGE_WHOLE;
        for (uint32_t i = 0; desc.pConstants && i < desc.pConstants->numConstants; i++)
            if (desc.pConstants->pConstantIds[i] == SPEC_STAGE)
                std::memcpy(&stage, desc.pConstants->pConstantValues[i], sizeof stage);
        if (only_adding && stage != zemm::kernels::STAGE_ADD_RANGES)
            continue;
        ++refusals;
        return {answer, log_text};
    }
    return {ZE_RESULT_SUCCESS, ""};
}

std::atomic<int> kernels_to_refuse = 0;

ze_result_t judge_kernel(const ze_kernel_desc_t &) {
    if (kernels_to_refuse == 0)
        return ZE_RESULT_SUCCESS;
    --kernels_to_refuse;
    return ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED;
}

void refuse(std::set<std::string> names) {
    refused = std::move(names);
    refusals = 0;
}

// ---- the log: stdout is a file

char log_path[] = "/tmp/zemm-build-failure-XXXXXX";

// Returns what has been written since the last call.
std::string said() {
    static std::streamoff at = 0;
    std::fflush(stdout);
    std::ifstream file(log_path);
    file.seekg(at);
    std::string text(std::istreambuf_iterator<char>(file), {});
    at += std::streamoff(text.size());
    return text;
}

bool has(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

std::string verbosity() {
    const char *value = std::getenv("ZEMM_VERBOSE");
    return value ? value : "";
}

// ---- problems

zemm_engine_t engine;
zemm_stream_t stream;

struct problem {
    zemm_dim_t m, k, n;
    zemm_data_type_t src = zemm_f32, wei = zemm_f32;
    zemm_format_tag_t wei_tag = zemm_ab;
    bool wei_zp = false;
    bool user_scratchpad = false;
};

own<zemm_memory_desc_t> md_of(zemm_dim_t rows, zemm_dim_t columns, zemm_data_type_t dt,
                              zemm_format_tag_t tag) {
    const zemm_dims_t dims = {rows, columns};
    own<zemm_memory_desc_t> md;
    OK(zemm_memory_desc_create_with_tag(&md, 2, dims, dt, tag));
    return md;
}

zemm_status_t try_describe(const problem &p, zemm_primitive_desc_t *pd) {
    own<zemm_primitive_attr_t> attr;
    OK(zemm_primitive_attr_create(&attr));
    if (p.wei_zp)
        OK(zemm_primitive_attr_set_zero_points_mask(attr, ZEMM_ARG_WEIGHTS, 0));
    if (p.user_scratchpad)
        OK(zemm_primitive_attr_set_scratchpad_mode(attr, zemm_scratchpad_mode_user));
    const auto src = md_of(p.m, p.k, p.src, zemm_ab), wei = md_of(p.k, p.n, p.wei, p.wei_tag),
               dst = md_of(p.m, p.n, zemm_f32, zemm_ab);
    return zemm_matmul_primitive_desc_create(pd, engine, src, wei, nullptr, dst, attr);
}

own<zemm_primitive_desc_t> describe(const problem &p) {
    own<zemm_primitive_desc_t> pd;
    OK(try_describe(p, &pd));
    return pd;
}

std::string impl(const_zemm_primitive_desc_t pd) {
    const char *name = nullptr;
    OK(zemm_primitive_desc_query(pd, zemm_query_impl_info_str, 0, &name));
    return name;
}

std::string impl(const_zemm_primitive_t primitive) {
    const_zemm_primitive_desc_t pd = nullptr;
    OK(zemm_primitive_get_primitive_desc(primitive, &pd));
    return impl(pd);
}

size_t bytes(const_zemm_memory_desc_t md) {
    return zemm_memory_desc_get_size(md);
}

struct row {
    std::string name;
    bool same_weights; // whether the row takes the same weights layout as the first row
    size_t scratchpad; // bytes, in user mode
};

// The rows that a new descriptor goes through.
std::vector<row> rows_of(const problem &p) {
    const auto first = describe(p), pd = describe(p);
    std::vector<row> rows;
    do
        rows.push_back(
            {impl(pd),
             zemm_memory_desc_equal(zemm_primitive_desc_query_md(first, zemm_query_weights_md, 0),
                                    zemm_primitive_desc_query_md(pd, zemm_query_weights_md, 0)) != 0,
             bytes(zemm_primitive_desc_query_md(pd, zemm_query_scratchpad_md, 0))});
    while (zemm_primitive_desc_next_impl(pd) == zemm_success);
    return rows;
}

own<zemm_primitive_t> create(const_zemm_primitive_desc_t pd) {
    own<zemm_primitive_t> primitive;
    OK(zemm_primitive_create(&primitive, pd));
    return primitive;
}

// No primitive is made, and the sentence has these parts.
void fails(const_zemm_primitive_desc_t pd, std::initializer_list<std::string> parts,
           zemm_status_t status = zemm_runtime_error) {
    zemm_primitive_t primitive = nullptr;
    CHECK(zemm_primitive_create(&primitive, pd) == status && !primitive);
    for (const std::string &part : parts)
        CHECK(has(zemm_last_error(), part));
}

template <typename T> std::vector<T> values(size_t count, int low, int high) {
    std::vector<T> v(count);
    unsigned state = 11;
    for (T &x : v) {
        state = state * 1664525u + 1013904223u;
        x = T(low + int(state >> 8) % (high - low + 1));
    }
    return v;
}

own<zemm_memory_t> memory(const_zemm_memory_desc_t md, const void *data) {
    own<zemm_memory_t> made;
    OK(zemm_memory_create(&made, md, engine, const_cast<void *>(data)));
    return made;
}

// Runs the primitive with arguments made for pd, which may differ from the primitive's own
// descriptor, and checks dst.
void run(const problem &p, const_zemm_primitive_desc_t pd, const_zemm_primitive_t primitive) {
    const bool integer = p.src != zemm_f32;
    const auto src8 = values<int8_t>(size_t(p.m * p.k), p.src == zemm_u8 ? 0 : -9, 9),
               wei8 = values<int8_t>(size_t(p.k * p.n), 0, 9);
    const std::vector<float> src32(src8.begin(), src8.end()), wei32(wei8.begin(), wei8.end());
    std::vector<float> dst(size_t(p.m * p.n));
    std::vector<zemm_exec_arg_t> args;
    std::deque<own<zemm_memory_t>> memories;
    const auto add = [&](int arg, const_zemm_memory_desc_t md, const void *data) {
        args.push_back({arg, memories.emplace_back(memory(md, data))});
        return args.back().memory;
    };
    const auto arg_md = [&](int arg) {
        return zemm_primitive_desc_query_md(pd, zemm_query_exec_arg_md, arg);
    };
    add(ZEMM_ARG_SRC, arg_md(ZEMM_ARG_SRC), integer ? (const void *)src8.data() : src32.data());
    add(ZEMM_ARG_DST, arg_md(ZEMM_ARG_DST), dst.data());
    // Reorders the weights into the layout of the descriptor.
    const auto plain = md_of(p.k, p.n, integer ? zemm_s8 : zemm_f32, zemm_ab);
    const const_zemm_memory_desc_t wei_md = arg_md(ZEMM_ARG_WEIGHTS);
    std::vector<char> arranged(bytes(wei_md) + 64);
    const zemm_memory_t wei = add(ZEMM_ARG_WEIGHTS, wei_md, arranged.data());
    const auto from = memory(plain, integer ? (const void *)wei8.data() : wei32.data());
    own<zemm_primitive_desc_t> reorder;
    OK(zemm_reorder_primitive_desc_create(&reorder, plain, engine, wei_md, engine, nullptr));
    const auto move = create(reorder);
    const zemm_exec_arg_t move_args[] = {{ZEMM_ARG_FROM, from}, {ZEMM_ARG_TO, wei}};
    OK(zemm_primitive_execute(move, stream, 2, move_args));

    const int32_t zero_point = p.wei_zp ? 3 : 0;
    const auto zero_point_md = md_of(1, 1, zemm_s32, zemm_ab);
    if (p.wei_zp)
        add(ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_WEIGHTS, zero_point_md, &zero_point);
    const const_zemm_memory_desc_t scratchpad_md =
        zemm_primitive_desc_query_md(pd, zemm_query_scratchpad_md, 0);
    std::vector<char> scratchpad(bytes(scratchpad_md));
    if (!scratchpad.empty())
        add(ZEMM_ARG_SCRATCHPAD, scratchpad_md, scratchpad.data());
    OK(zemm_primitive_execute(primitive, stream, int(args.size()), args.data()));
    OK(zemm_stream_wait(stream));
    for (zemm_dim_t m = 0; m < p.m; m++)
        for (zemm_dim_t n = 0; n < p.n; n++) {
            long sum = 0;
            for (zemm_dim_t k = 0; k < p.k; k++)
                sum += src8[size_t(m * p.k + k)] * (wei8[size_t(k * p.n + n)] - zero_point);
            CHECK(dst[size_t(m * p.n + n)] == float(sum));
        }
}

// ---- sections; each has specialisation constants of its own, because failed builds are remembered

void test_next_row_runs() {
    const problem p = {21, 64, 48};
    const std::vector<row> rows = rows_of(p);
    CHECK(rows.size() >= 2);
    const auto pd = describe(p);
    said();
    refuse({rows[0].name});
    const auto primitive = create(pd);
    std::string text = said();
    CHECK(impl(primitive) == rows[1].name && impl(pd) == rows[0].name);
    CHECK(refusals == 1);
    run(p, pd, primitive);
    if (verbosity() == "none") {
        CHECK(text.empty());
    } else {
        CHECK(has(text, "primitive,warn,matmul," + rows[0].name + " is left out"));
        CHECK(has(text, "build log: error: no such builtin; in function matmul"));
        CHECK(has(text, rows[1].name + " runs instead"));
    }
    // The failed module is not built again, and the log mentions it only once.
    const auto again = create(pd);
    CHECK(impl(again) == rows[1].name && refusals == 1);
    text = said();
    CHECK(!has(text, "primitive,warn"));
    // New descriptors leave the row out.
    const std::vector<row> left = rows_of(p);
    CHECK(left.size() == rows.size() - 1);
    for (size_t i = 0; i < left.size(); i++)
        CHECK(left[i].name == rows[i + 1].name);
    text = said();
    const std::string reason = "dispatch,matmul," + rows[0].name +
                               ",the driver failed to build it: error: no such builtin,21x64:64x48";
    CHECK(has(text, reason) == (verbosity() == "dispatch"));
    // A problem with other constants makes the driver try again.
    problem other = p;
    other.wei_tag = zemm_ba;
    CHECK(rows_of(other).front().name == rows[0].name);
    // A descriptor that already lists the row skips it.
    const auto list = describe(other);
    const auto fourth = create(list);
    CHECK(impl(fourth) != rows[0].name && refusals == 2);
}

void test_last_row_and_none() {
    const problem p = {5, 64, 48, zemm_s8, zemm_f32}; // matmul does not take this pair of types
    zemm_primitive_desc_t none = nullptr;
    CHECK(try_describe(p, &none) != zemm_success);
    const problem q = {21, 64, 48, zemm_s8, zemm_s8, zemm_ba};
    const std::vector<row> rows = rows_of(q);
    std::set<std::string> all;
    for (const row &r : rows)
        all.insert(r.name);
    const auto pd = describe(q);
    refuse(all);
    fails(pd, {"no such builtin", rows.back().name});
    CHECK(refusals == int(rows.size()));
    CHECK(try_describe(q, &none) == zemm_unimplemented && !none);
    CHECK(has(zemm_last_error(), "the driver failed to build it: error: no such builtin"));
    // Walking through an old list ends at once and changes nothing.
    CHECK(zemm_primitive_desc_next_impl(pd) == zemm_last_impl_reached && impl(pd) == rows[0].name);
}

// The fallback is the next row that takes the weights in the same packed layout.
void test_packed_weights() {
    const problem p = {21, 128, 80, zemm_s8, zemm_s8, zemm_format_tag_any};
    const std::vector<row> rows = rows_of(p);
    const auto next = std::find_if(rows.begin() + 1, rows.end(), [](const row &r) { return r.same_weights; });
    if (next == rows.end()) {
        std::fprintf(stderr, "  one row packs weights on this machine\n");
        return;
    }
    const auto pd = describe(p);
    refuse({rows[0].name});
    const auto primitive = create(pd);
    CHECK(impl(primitive) == next->name);
    run(p, pd, primitive);
}

// No row is left that takes weights in this layout, so the caller has to create the descriptor
// again.
void test_other_weights() {
    const problem p = {21, 128, 80, zemm_u8, zemm_s8, zemm_format_tag_any};
    std::set<std::string> same, other;
    for (const row &r : rows_of(p))
        (r.same_weights ? same : other).insert(r.name);
    if (other.empty()) {
        std::fprintf(stderr, "  every row takes the same weights on this machine\n");
        return;
    }
    const auto pd = describe(p);
    refuse(same);
    fails(pd, {"no such builtin", "create the primitive descriptor again"});
    CHECK(refusals == int(same.size()));
    const auto anew = describe(p);
    const auto primitive = create(anew);
    CHECK(impl(primitive) == impl(anew) && other.contains(impl(anew)));
    run(p, anew, primitive);
}

// When K is split, rows need scratchpads of different sizes. The caller's has the size that the
// first row asked for.
void test_user_scratchpad() {
    const problem p = {16, 32768, 16, zemm_u8, zemm_s8, zemm_ab, false, true};
    const std::vector<row> rows = rows_of(p);
    const auto fits = [&](const row &r) { return r.scratchpad <= rows[0].scratchpad; };
    const auto larger = std::find_if_not(rows.begin(), rows.end(), fits);
    const auto next = std::find_if(larger, rows.end(), fits);
    if (next == rows.end()) {
        std::fprintf(stderr, "  every row needs as much or less on this machine\n");
        return;
    }
    std::set<std::string> before, fitting;
    for (auto r = rows.begin(); r != rows.end(); ++r) {
        if (r < larger)
            before.insert(r->name);
        if (fits(*r))
            fitting.insert(r->name);
    }
    const auto pd = describe(p);
    refuse(before);
    const auto primitive = create(pd);
    CHECK(impl(primitive) == next->name);
    run(p, pd, primitive);

    const problem q = {16, 32768, 16, zemm_s8, zemm_s8, zemm_ab, false, true};
    const auto full = describe(q);
    refuse(fitting);
    fails(full, {"more scratchpad", "create the primitive descriptor again"});
    const auto anew = describe(q);
    CHECK(impl(anew) == larger->name);
    run(q, anew, create(anew));
}

void test_forced() {
    const problem p = {21, 64, 48, zemm_f32, zemm_bf16};
    const std::vector<row> rows = rows_of(p);
    setenv("ZEMM_KERNEL", rows[0].name.c_str(), 1);
    const auto pd = describe(p);
    refuse({rows[0].name});
    said();
    for (int i = 0; i < 2; i++) {
        fails(pd, {"no such builtin; in function matmul"});
        CHECK(refusals == 1);
    }
    CHECK(!has(said(), "runs instead"));
    const auto still = describe(p);
    CHECK(impl(still) == rows[0].name);
    unsetenv("ZEMM_KERNEL");
}

// Failures that are not caused by the module are errors. No other row runs instead, and the next
// call tries again.
void test_passing_failures() {
    const problem p = {21, 64, 48, zemm_f32, zemm_f16};
    const auto pd = describe(p);
    const std::string name = impl(pd);
    const std::pair<ze_result_t, zemm_status_t> failures[] = {
        {ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, zemm_out_of_memory},
        {ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, zemm_out_of_memory},
        {ZE_RESULT_ERROR_DEVICE_LOST, zemm_runtime_error}};
    for (const auto &[result, status] : failures) {
        answer = result;
        refuse({name});
        fails(pd, {name}, status);
        CHECK(refusals == 1);
        CHECK(rows_of(p).front().name == name);
    }
    answer = ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    refuse({});
    const auto primitive = create(pd);
    CHECK(impl(primitive) == name);
    run(p, pd, primitive);
}

void test_modules_beside() {
    const problem p = {21, 64, 48, zemm_u8, zemm_u8, zemm_ab, true};
    const auto pd = describe(p);
    refuse({"reduce_src"});
    for (int i = 0; i < 2; i++) {
        fails(pd, {"reduce_src", "no such builtin"});
        CHECK(refusals == 1);
    }
    const auto again = describe(p);
    CHECK(impl(again) == impl(pd));
}

// K is split: the row's second module fails.
void test_finish() {
    const problem p = {16, 32768, 16, zemm_f32, zemm_f32};
    const std::vector<row> rows = rows_of(p);
    const auto pd = describe(p);
    only_adding = true;
    refuse({rows[0].name});
    const auto primitive = create(pd);
    only_adding = false;
    if (refusals == 0) {
        std::fprintf(stderr, "  K is not split on this machine\n");
    } else {
        CHECK(impl(primitive) == rows[1].name);
        CHECK(rows_of(p).front().name == rows[1].name);
    }
    run(p, pd, primitive);
}

// The driver builds the module, but then has no kernel in it. Intel's does so for an unknown
// builtin.
void test_kernel() {
    const problem p = {21, 64, 48, zemm_f32, zemm_f16, zemm_ba};
    const std::vector<row> rows = rows_of(p);
    const auto pd = describe(p);
    refuse({});
    kernels_to_refuse = 1;
    said();
    const auto primitive = create(pd);
    CHECK(kernels_to_refuse == 0 && impl(primitive) == rows[1].name);
    CHECK(has(said(), "ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED") == (verbosity() != "none"));
    CHECK(rows_of(p).front().name == rows[1].name);
    run(p, pd, primitive);
}

void test_threads() {
    const problem p = {21, 64, 48, zemm_f32, zemm_bf16, zemm_ba};
    const std::vector<row> rows = rows_of(p);
    const auto pd = describe(p);
    refuse({rows[0].name});
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; i++)
        threads.emplace_back([&] { CHECK(impl(create(pd)) == rows[1].name); });
    for (std::thread &t : threads)
        t.join();
    CHECK(refusals == 1);
}

void test_reorder() {
    const auto plain = md_of(96, 80, zemm_f32, zemm_ab);
    own<zemm_memory_desc_t> packed;
    const zemm_dims_t dims = {96, 80};
    OK(zemm_memory_desc_create_with_string_tag(&packed, 2, dims, zemm_f32, "BA16a64b"));
    own<zemm_primitive_desc_t> pd;
    OK(zemm_reorder_primitive_desc_create(&pd, plain, engine, packed, engine, nullptr));
    CHECK(impl(pd) == "reorder_pack");
    refuse({"reorder_pack"});
    const auto primitive = create(pd);
    CHECK(impl(primitive) == "reorder" && refusals == 1);
    const std::vector<float> in = values<float>(96 * 80, -99, 99);
    std::vector<float> out(bytes(packed) / sizeof(float));
    const auto from = memory(plain, in.data()), to = memory(packed, out.data());
    const zemm_exec_arg_t args[] = {{ZEMM_ARG_FROM, from}, {ZEMM_ARG_TO, to}};
    OK(zemm_primitive_execute(primitive, stream, 2, args));
    OK(zemm_stream_wait(stream));
    for (size_t k = 0; k < 96; k++)
        for (size_t n = 0; n < 80; n++)
            CHECK(out[n / 64 * 96 * 64 + k * 64 + n % 64] == in[k * 80 + n]);
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    const int fd = mkstemp(log_path);
    CHECK(fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
    setenv("ZEMM_CPU_DRIVER", argv[1], 1);
    const refusing_driver driver(argv[1]);
    if (zemm_engine_create(&engine, zemm_cpu, 0) != zemm_success) {
        std::fprintf(stderr, "no CPU device: %s\n", zemm_last_error());
        return SKIP;
    }
    driver.set_judges({judge_module, judge_kernel});
    OK(zemm_stream_create(&stream, engine, zemm_stream_default_flags));
    const std::pair<const char *, void (*)()> tests[] = {{"the next row runs", test_next_row_runs},
                                                         {"no row is left", test_last_row_and_none},
                                                         {"packed weights", test_packed_weights},
                                                         {"other weights", test_other_weights},
                                                         {"user scratchpad", test_user_scratchpad},
                                                         {"ZEMM_KERNEL", test_forced},
                                                         {"passing failures", test_passing_failures},
                                                         {"modules beside", test_modules_beside},
                                                         {"finish", test_finish},
                                                         {"kernel", test_kernel},
                                                         {"threads", test_threads},
                                                         {"reorder", test_reorder}};
    for (const auto &[name, test] : tests) {
        if (!verbosity().empty() && test != test_next_row_runs && test != test_kernel)
            continue; // the others do the same at every level of the log
        std::fprintf(stderr, "%s\n", name);
        test();
    }
    DESTROY(stream, engine);
    unlink(log_path);
}
