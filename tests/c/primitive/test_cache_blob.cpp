// SPDX-License-Identifier: Apache-2.0
// Cache blobs of primitives. One process makes them, another one creates primitives from them with a
// driver that refuses SPIR-V, so that nothing can be built. Linked with libzemm's objects.
//   test_cache_blob refusing_driver.so
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "child.h"
#include "refusing_driver.h"
#include "ze/disk_cache.hpp"
#include "zemm_test.hpp"

namespace {

using bytes = std::vector<uint8_t>;

int built = 0; // modules from SPIR-V
bool refuses_spirv = false;

refusal judge_module(const ze_module_desc_t &desc) {
    if (desc.format != ZE_MODULE_FORMAT_IL_SPIRV)
        return {ZE_RESULT_SUCCESS, ""};
    ++built;
    return {refuses_spirv ? ZE_RESULT_ERROR_MODULE_BUILD_FAILURE : ZE_RESULT_SUCCESS, "refused by the test"};
}

constexpr zemm_dim_t k = 32;

own<zemm_primitive_desc_t> product(zemm_dim_t m, zemm_data_type_t src, zemm_data_type_t weights,
                                   const_zemm_primitive_attr_t attr = nullptr) {
    return matmul(tagged({m, k}, src, zemm_ab), dense({k, 16}, weights), tagged({m, 16}, zemm_f32, zemm_ab),
                  attr);
}

// With a parameter of the weights, which `set` declares.
own<zemm_primitive_desc_t> product_with(decltype(&zemm_primitive_attr_set_offsets) set, int mask,
                                        zemm_data_type_t type) {
    const auto attr = new_attr();
    OK(set(attr, ZEMM_ARG_WEIGHTS, mask, 0, nullptr, type));
    return product(3, zemm_s8, zemm_u8, attr);
}

// The matmul with a zero point has two modules, because it computes the sums of src first.
const std::vector<std::function<own<zemm_primitive_desc_t>()>> problems = {
    [] { return product(3, zemm_f32, zemm_f32); },
    [] { return product_with(zemm_primitive_attr_set_zero_points, 0, zemm_u8); },
    [] {
        return made(zemm_reorder_primitive_desc_create, dense({16, 16}, zemm_f32), cpu(),
                    tagged({16, 16}, zemm_s8, zemm_ba), cpu(), nullptr);
    },
    [] { return product(ZEMM_RUNTIME_DIM_VAL, zemm_f32, zemm_f32); },
    [] { return product_with(zemm_primitive_attr_set_offsets, 2, zemm_f32); },
    [] { return product_with(zemm_primitive_attr_set_zero_points, 2, zemm_f32); },
    [] {
        const zemm_dim_t groups[] = {16, 1};
        const auto attr = new_attr();
        OK(zemm_primitive_attr_set_scale_factors(attr, ZEMM_ARG_WEIGHTS, 2, 0, nullptr, zemm_f16));
        OK(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_WEIGHTS, 3, 2, groups, zemm_u8));
        return product(3, zemm_s8, zemm_u8, attr);
    },
};

bytes id_of(const_zemm_primitive_desc_t pd) {
    const auto size = queried<int64_t>(pd, zemm_query_cache_blob_id_size_s64);
    const auto *id = queried<const uint8_t *>(pd, zemm_query_cache_blob_id);
    CHECK(size > 0);
    return {id, id + size};
}

bytes blob_of(zemm_primitive_t primitive) {
    size_t size = 0;
    OK(zemm_primitive_get_cache_blob(primitive, &size, nullptr));
    bytes blob(size + 5, 0xab);
    size_t room = size - 1;
    CHECK(zemm_primitive_get_cache_blob(primitive, &room, blob.data()) == zemm_invalid_arguments);
    CHECK(room == size - 1 && blob[0] == 0xab);
    room = blob.size();
    OK(zemm_primitive_get_cache_blob(primitive, &room, blob.data()));
    CHECK(room == size && blob[size] == 0xab);
    blob.resize(size);
    return blob;
}

void write(const std::filesystem::path &file, const bytes &content) {
    std::ofstream stream(file, std::ios::binary);
    stream.write(reinterpret_cast<const char *>(content.data()), std::streamsize(content.size()));
    CHECK(stream.good());
}

bytes read(const std::filesystem::path &file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

std::filesystem::path file_of(const std::filesystem::path &folder, const char *kind, size_t problem) {
    return folder / (kind + std::to_string(problem));
}

void make(const std::filesystem::path &folder) {
    for (size_t i = 0; i < problems.size(); ++i) {
        const auto pd = problems[i]();
        const auto primitive = made(zemm_primitive_create, pd);
        write(file_of(folder, "id", i), id_of(pd));
        write(file_of(folder, "blob", i), blob_of(primitive));
    }
    CHECK(built > 0);
    // Nothing to compute, nothing to keep.
    const auto primitive = made(zemm_primitive_create, product(0, zemm_f32, zemm_f32));
    size_t size = 1;
    OK(zemm_primitive_get_cache_blob(primitive, &size, nullptr));
    CHECK(size == 0);
}

void check_refused(const_zemm_primitive_desc_t pd, const bytes &blob, const char *why) {
    zemm_primitive_t primitive = nullptr;
    INVALID(why, zemm_primitive_create_from_cache_blob(&primitive, pd, blob.size(), blob.data()));
    CHECK(!primitive);
}

// The blob with the binary of its first module replaced, and a right checksum.
bytes with_another_binary(const bytes &blob) {
    zemm::ze::disk_cache::entry first;
    CHECK(!*zemm::ze::disk_cache::read_entry(blob, first));
    bytes changed = zemm::ze::disk_cache::make_entry(std::string(first.key), bytes(1000, 7));
    changed.insert(changed.end(), blob.begin() + ptrdiff_t(first.size), blob.end());
    return changed;
}

void check_damage(const_zemm_primitive_desc_t pd, const bytes &blob, const bytes &other) {
    for (size_t size = 1; size < blob.size(); size = size < 64 ? size + 1 : size * 3 / 2)
        check_refused(pd, {blob.begin(), blob.begin() + ptrdiff_t(size)}, "cannot be used");
    for (size_t at = 0; at < blob.size(); at = at < 300 ? at + 1 : at * 3 / 2) {
        bytes damaged = blob;
        damaged[at] ^= 0x10;
        check_refused(pd, damaged, "cannot be used");
    }
    bytes longer = blob;
    longer.push_back(0);
    check_refused(pd, longer, "too short");
    zemm_primitive_t none = nullptr;
    INVALID("empty", zemm_primitive_create_from_cache_blob(&none, pd, 0, blob.data()));
    check_refused(pd, other, "cache_blob_id differs");
    check_refused(pd, with_another_binary(blob), "refuses the native binary");
}

// dst = src * weights with ones and the weights' zero point 0, in a matmul of the first two problems.
void check_result(const own<zemm_primitive_desc_t> &pd, const own<zemm_primitive_t> &primitive,
                  bool is_integer) {
    const std::vector<float> f32_ones(k * 16, 1.f);
    const std::vector<uint8_t> int_ones(k * 16, 1);
    const uint8_t zero = 0;
    std::vector<float> dst(3 * 16);
    call c(made(zemm_primitive_desc_clone, pd), false);
    for (const int arg : {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS})
        c.pass(arg, is_integer ? static_cast<const void *>(int_ones.data()) : f32_ones.data());
    c.pass(ZEMM_ARG_DST, dst.data());
    if (is_integer)
        c.pass(ZERO_POINTS(ZEMM_ARG_WEIGHTS), &zero, dense({1}, zemm_u8));
    const auto stream = new_stream();
    OK(zemm_primitive_execute(primitive, stream, int(c.args.size()), c.args.data()));
    OK(zemm_stream_wait(stream));
    CHECK(dst == std::vector<float>(3 * 16, float(k)));
}

void use(const std::filesystem::path &folder) {
    refuses_spirv = true;
    const size_t last = problems.size() - 1;
    check_refused(problems[last](), read(file_of(folder, "blob", last - 1)), "cache_blob_id differs");
    for (size_t i = 0; i < problems.size(); ++i) {
        const auto pd = problems[i]();
        const bytes blob = read(file_of(folder, "blob", i));
        CHECK(id_of(pd) == read(file_of(folder, "id", i)));
        if (i < 2)
            check_damage(pd, blob, read(file_of(folder, "blob", i + 1)));
        for (int round = 0; round < 2; ++round) { // the second time the primitive cache has it
            const auto primitive = made(zemm_primitive_create_from_cache_blob, pd, blob.size(), blob.data());
            if (i < 2)
                check_result(pd, primitive, i == 1);
            CHECK(blob_of(primitive) == blob);
        }
    }
    CHECK(built == 0);
    // The driver would have refused to build.
    zemm_primitive_t primitive = nullptr;
    CHECK(zemm_primitive_create(&primitive, product(3, zemm_bf16, zemm_bf16)) != zemm_success);
    CHECK(built > 0);
}

} // namespace

int main(int argc, char **argv) {
    CHECK(argc == 2);
    char folder[] = "/tmp/zemm-cache-blob-XXXXXX";
    CHECK(mkdtemp(folder));
    setenv("ZEMM_CPU_DRIVER", argv[1], 1);
    int failures = 0;
    for (const auto part : {make, use})
        failures += failures == 0 && wait_for(start_child(
                                         [&] {
                                             refusing_driver(argv[1]).set_judges({.module = judge_module});
                                             part(folder);
                                         },
                                         110)) != 0;
    std::filesystem::remove_all(folder);
    return failures;
}
