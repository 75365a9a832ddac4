// SPDX-License-Identifier: Apache-2.0
// The driver fails to build a module. The driver is the CPU driver, except that it refuses the
// modules that each section names. Linked with libzemm's objects, which identify the SPIR-V.
//   test_build_failure refusing_driver.so
#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

#include "in_threads.hpp"
#include "matmul/plan/plan.hpp"
#include "primitive/spirv.hpp"
#include "refusing_driver.h"
#include "zemm_test.hpp"

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

zemm_stream_t stream;

struct problem {
    zemm_dim_t m, k, n;
    zemm_data_type_t src = zemm_f32, wei = zemm_f32;
    zemm_format_tag_t wei_tag = zemm_ab;
    bool wei_zp = false;
    bool user_scratchpad = false;
};

zemm_status_t try_describe(const problem &p, zemm_primitive_desc_t *pd) {
    const auto attr = new_attr();
    if (p.wei_zp)
        OK(zemm_primitive_attr_set_zero_points_mask(attr, ZEMM_ARG_WEIGHTS, 0));
    if (p.user_scratchpad)
        OK(zemm_primitive_attr_set_scratchpad_mode(attr, zemm_scratchpad_mode_user));
    const auto src = dense({p.m, p.k}, p.src), wei = tagged({p.k, p.n}, p.wei, p.wei_tag),
               dst = dense({p.m, p.n}, zemm_f32);
    return zemm_matmul_primitive_desc_create(pd, cpu(), src, wei, nullptr, dst, attr);
}

own<zemm_primitive_desc_t> describe(const problem &p) {
    own<zemm_primitive_desc_t> pd;
    OK(try_describe(p, &pd));
    return pd;
}

std::string impl(const_zemm_primitive_t primitive) {
    return impl_of(got(zemm_primitive_get_primitive_desc, primitive));
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
            {impl_of(pd),
             zemm_memory_desc_equal(zemm_primitive_desc_query_md(first, zemm_query_weights_md, 0),
                                    zemm_primitive_desc_query_md(pd, zemm_query_weights_md, 0)) != 0,
             bytes(zemm_primitive_desc_query_md(pd, zemm_query_scratchpad_md, 0))});
    while (zemm_primitive_desc_next_impl(pd) == zemm_success);
    return rows;
}

own<zemm_primitive_t> create(const_zemm_primitive_desc_t pd) {
    return made(zemm_primitive_create, pd);
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
    draw(v, state, low, high);
    return v;
}

// Runs the primitive with arguments made for pd, which may differ from the primitive's own descriptor, and
// checks dst.
void run(const problem &p, const own<zemm_primitive_desc_t> &pd, const own<zemm_primitive_t> &primitive) {
    const bool integer = p.src != zemm_f32;
    const auto src8 = values<int8_t>(size_t(p.m * p.k), p.src == zemm_u8 ? 0 : -9, 9),
               wei8 = values<int8_t>(size_t(p.k * p.n), 0, 9);
    const std::vector<float> src32(src8.begin(), src8.end()), wei32(wei8.begin(), wei8.end());
    std::vector<float> dst(size_t(p.m * p.n));
    call c(made(zemm_primitive_desc_clone, pd), false);
    // Reorders the weights into the layout of the descriptor.
    const auto plain = dense({p.k, p.n}, integer ? zemm_s8 : zemm_f32);
    const_zemm_memory_desc_t wei_md = zemm_primitive_desc_query_md(pd, zemm_query_weights_md, 0);
    std::vector<char> arranged(bytes(wei_md) + 64);
    call move(made(zemm_reorder_primitive_desc_create, plain, cpu(), wei_md, cpu(), nullptr));
    move.pass(ZEMM_ARG_FROM, integer ? static_cast<const void *>(wei8.data()) : wei32.data());
    move.pass(ZEMM_ARG_TO, arranged.data());
    OK(move.execute(stream));

    const int32_t zero_point = p.wei_zp ? 3 : 0;
    const auto zero_point_md = dense({1, 1}, zemm_s32);
    c.pass(ZEMM_ARG_SRC, integer ? static_cast<const void *>(src8.data()) : src32.data());
    c.pass(ZEMM_ARG_DST, dst.data());
    c.pass(ZEMM_ARG_WEIGHTS, arranged.data());
    if (p.wei_zp)
        c.pass(ZERO_POINTS(ZEMM_ARG_WEIGHTS), &zero_point, zero_point_md);
    std::vector<char> scratchpad(bytes(zemm_primitive_desc_query_md(pd, zemm_query_scratchpad_md, 0)));
    if (!scratchpad.empty())
        c.pass(ZEMM_ARG_SCRATCHPAD, scratchpad.data());
    OK(zemm_primitive_execute(primitive, stream, int(c.args.size()), c.args.data()));
    OK(zemm_stream_wait(stream));
    for (zemm_dim_t m = 0; m < p.m; m++)
        for (zemm_dim_t n = 0; n < p.n; n++) {
            long sum = 0;
            for (zemm_dim_t k = 0; k < p.k; k++)
                sum += src8[size_t(m * p.k + k)] * (wei8[size_t(k * p.n + n)] - zero_point);
            CHECK(dst[size_t(m * p.n + n)] == float(sum));
        }
}

// The primitive of a descriptor is of this row, as the driver refuses others.
void check_falls_back(const problem &p, std::set<std::string> names, const std::string &to) {
    const auto pd = describe(p);
    refuse(std::move(names));
    const auto primitive = create(pd);
    CHECK(impl(primitive) == to);
    run(p, pd, primitive);
}

// No row is left for what a descriptor says. A new descriptor is of another row, one of these.
void check_creates_again(const problem &p, std::set<std::string> names, const std::string &why,
                         const std::set<std::string> &others) {
    const auto pd = describe(p);
    refuse(std::move(names));
    fails(pd, {why, "create the primitive descriptor again"});
    const auto anew = describe(p);
    CHECK(others.contains(impl_of(anew)));
    const auto primitive = create(anew);
    CHECK(impl(primitive) == impl_of(anew));
    run(p, anew, primitive);
}

// ---- sections; each has specialisation constants of its own, because failed builds are remembered

TEST(next_row_runs) {
    const problem p = {21, 64, 48};
    const std::vector<row> rows = rows_of(p);
    CHECK(rows.size() >= 2);
    const auto pd = describe(p);
    said();
    refuse({rows[0].name});
    const auto primitive = create(pd);
    std::string text = said();
    CHECK(impl(primitive) == rows[1].name && impl_of(pd) == rows[0].name);
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

TEST(last_row_and_none) {
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
    CHECK(zemm_primitive_desc_next_impl(pd) == zemm_last_impl_reached && impl_of(pd) == rows[0].name);
}

// The fallback is the next row that takes the weights in the same packed layout.
TEST(packed_weights) {
    const problem p = {21, 128, 80, zemm_s8, zemm_s8, zemm_format_tag_any};
    const std::vector<row> rows = rows_of(p);
    const auto next = std::find_if(rows.begin() + 1, rows.end(), [](const row &r) { return r.same_weights; });
    if (next == rows.end()) {
        std::fprintf(stderr, "  one row packs weights on this machine\n");
        return;
    }
    check_falls_back(p, {rows[0].name}, next->name);
}

// No row is left that takes weights in this layout, so the caller has to create the descriptor again.
TEST(other_weights) {
    const problem p = {21, 128, 80, zemm_u8, zemm_s8, zemm_format_tag_any};
    std::set<std::string> same, other;
    for (const row &r : rows_of(p))
        (r.same_weights ? same : other).insert(r.name);
    if (other.empty()) {
        std::fprintf(stderr, "  every row takes the same weights on this machine\n");
        return;
    }
    check_creates_again(p, same, "no such builtin", other);
    CHECK(refusals == int(same.size()));
}

// When K is split, rows need scratchpads of different sizes. The caller's has the size that the
// first row asked for.
TEST(user_scratchpad) {
    const problem p = {16, 32768, 16, zemm_u8, zemm_s8, zemm_ab, false, true};
    const std::vector<row> rows = rows_of(p);
    const auto fits = [&](const row &r) { return r.scratchpad <= rows[0].scratchpad; };
    const auto larger = std::find_if_not(rows.begin(), rows.end(), fits);
    const auto next = std::find_if(larger, rows.end(), fits);
    if (next == rows.end()) {
        std::fprintf(stderr, "  every row needs as much or less on this machine\n");
        return;
    }
    std::set<std::string> before;
    for (auto r = rows.begin(); r != larger; ++r)
        before.insert(r->name);
    check_falls_back(p, before, next->name);

    const problem q = {16, 32768, 16, zemm_s8, zemm_s8, zemm_ab, false, true};
    const std::vector<row> rows_q = rows_of(q); // may differ from those of p, whose src is u8
    std::set<std::string> fitting, others;
    for (const row &r : rows_q)
        (r.scratchpad <= rows_q[0].scratchpad ? fitting : others).insert(r.name);
    check_creates_again(q, fitting, "more scratchpad", others);
}

TEST(forced) {
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
    CHECK(impl_of(still) == rows[0].name);
    unsetenv("ZEMM_KERNEL");
}

// Failures that are not caused by the module are errors. No other row runs instead, and the next
// call tries again.
TEST(passing_failures) {
    const problem p = {21, 64, 48, zemm_f32, zemm_f16};
    const auto pd = describe(p);
    const std::string name = impl_of(pd);
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

TEST(modules_beside) {
    const problem p = {21, 64, 48, zemm_u8, zemm_u8, zemm_ab, true};
    const auto pd = describe(p);
    refuse({"reduce_src"});
    for (int i = 0; i < 2; i++) {
        fails(pd, {"reduce_src", "no such builtin"});
        CHECK(refusals == 1);
    }
    const auto again = describe(p);
    CHECK(impl_of(again) == impl_of(pd));
}

// K is split: the row's second module fails.
TEST(finish) {
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

// The driver builds the module, but then has no kernel in it. Intel's does so for an unknown builtin.
TEST(kernel) {
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

TEST(threads) {
    const problem p = {21, 64, 48, zemm_f32, zemm_bf16, zemm_ba};
    const std::vector<row> rows = rows_of(p);
    const auto pd = describe(p);
    refuse({rows[0].name});
    in_threads(6, [&](int) { CHECK(impl(create(pd)) == rows[1].name); });
    CHECK(refusals == 1);
}

TEST(reorder) {
    const auto packed = tagged({96, 80}, zemm_f32, "BA16a64b");
    const auto pd =
        made(zemm_reorder_primitive_desc_create, dense({96, 80}, zemm_f32), cpu(), packed, cpu(), nullptr);
    CHECK(impl_of(pd) == "reorder_pack");
    refuse({"reorder_pack"});
    call c(made(zemm_primitive_desc_clone, pd));
    CHECK(impl(c.primitive) == "reorder" && refusals == 1);
    const std::vector<float> in = values<float>(96 * 80, -99, 99);
    std::vector<float> out(bytes(packed) / sizeof(float));
    c.pass(ZEMM_ARG_FROM, in.data());
    c.pass(ZEMM_ARG_TO, out.data());
    c.run(stream);
    for (size_t k = 0; k < 96; k++)
        for (size_t n = 0; n < 80; n++)
            CHECK(out[n / 64 * 96 * 64 + k * 64 + n % 64] == in[k * 80 + n]);
}

} // namespace

int main(int argc, char **argv) {
    CHECK(argc == 2);
    const int fd = mkstemp(log_path);
    CHECK(fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
    setenv("ZEMM_CPU_DRIVER", argv[1], 1);
    const refusing_driver driver(argv[1]);
    const auto usual = new_stream();
    stream = usual;
    driver.set_judges({judge_module, judge_kernel});
    for (const test_case &test : test_case::all()) {
        const std::string name = test.name;
        if (!verbosity().empty() && name != "next_row_runs" && name != "kernel")
            continue; // the others do the same at every level of the log
        std::fprintf(stderr, "%s\n", test.name);
        test.body();
    }
    unlink(log_path);
}
