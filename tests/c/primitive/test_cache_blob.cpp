// SPDX-License-Identifier: Apache-2.0
// Cache blobs of primitives. One process makes them, another one creates primitives from them with a
// driver that refuses SPIR-V, so that nothing can be built. Linked with libzemm's objects.
//   test_cache_blob refusing_driver.so
//   test_cache_blob refusing_driver.so make|use FOLDER: a part of it
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "destroy.h"
#include "refusing_driver.h"
#include "ze/disk_cache.hpp"

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

zemm_engine_t engine;

constexpr zemm_dim_t k = 32;

own<zemm_memory_desc_t> matrix(zemm_dim_t rows, zemm_dim_t columns, zemm_data_type_t type,
                               zemm_format_tag_t tag = zemm_ab) {
    const zemm_dims_t dims = {rows, columns};
    own<zemm_memory_desc_t> md;
    OK(zemm_memory_desc_create_with_tag(&md, 2, dims, type, tag));
    return md;
}

own<zemm_primitive_desc_t> matmul(zemm_dim_t m, zemm_dim_t n, zemm_data_type_t src, zemm_data_type_t weights,
                                  bool with_zero_point) {
    own<zemm_primitive_attr_t> attr;
    OK(zemm_primitive_attr_create(&attr));
    if (with_zero_point)
        OK(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, 0, 0, nullptr, zemm_u8));
    own<zemm_primitive_desc_t> pd;
    OK(zemm_matmul_primitive_desc_create(&pd, engine, matrix(m, k, src), matrix(k, n, weights), nullptr,
                                         matrix(m, n, zemm_f32), attr));
    return pd;
}

using attr_setter = decltype(&zemm_primitive_attr_set_offsets);

// With floats for the weights, which `set` declares.
own<zemm_primitive_desc_t> matmul_with(attr_setter set) {
    own<zemm_primitive_attr_t> attr;
    OK(zemm_primitive_attr_create(&attr));
    OK(set(attr, ZEMM_ARG_WEIGHTS, 2, 0, nullptr, zemm_f32));
    own<zemm_primitive_desc_t> pd;
    OK(zemm_matmul_primitive_desc_create(&pd, engine, matrix(3, k, zemm_s8), matrix(k, 16, zemm_u8), nullptr,
                                         matrix(3, 16, zemm_f32), attr));
    return pd;
}

own<zemm_primitive_desc_t> transposition() {
    own<zemm_primitive_desc_t> pd;
    OK(zemm_reorder_primitive_desc_create(&pd, matrix(16, 16, zemm_f32), engine,
                                          matrix(16, 16, zemm_s8, zemm_ba), engine, nullptr));
    return pd;
}

// The matmul with a zero point has two modules, because it computes the sums of src first.
const std::vector<std::function<own<zemm_primitive_desc_t>()>> problems = {
    [] { return matmul(3, 16, zemm_f32, zemm_f32, false); },
    [] { return matmul(3, 16, zemm_s8, zemm_u8, true); },
    transposition,
    [] { return matmul(ZEMM_RUNTIME_DIM_VAL, 16, zemm_f32, zemm_f32, false); },
    [] { return matmul_with(zemm_primitive_attr_set_offsets); },
    [] { return matmul_with(zemm_primitive_attr_set_zero_points); },
};

bytes id_of(zemm_primitive_desc_t pd) {
    int64_t size = 0;
    const uint8_t *id = nullptr;
    OK(zemm_primitive_desc_query(pd, zemm_query_cache_blob_id_size_s64, 0, &size));
    OK(zemm_primitive_desc_query(pd, zemm_query_cache_blob_id, 0, &id));
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
        own<zemm_primitive_t> primitive;
        OK(zemm_primitive_create(&primitive, pd));
        write(file_of(folder, "id", i), id_of(pd));
        write(file_of(folder, "blob", i), blob_of(primitive));
    }
    CHECK(built > 0);
    // Nothing to compute, nothing to keep.
    own<zemm_primitive_t> primitive;
    size_t size = 1;
    OK(zemm_primitive_create(&primitive, matmul(0, 16, zemm_f32, zemm_f32, false)));
    OK(zemm_primitive_get_cache_blob(primitive, &size, nullptr));
    CHECK(size == 0);
}

void check_refused(zemm_primitive_desc_t pd, const bytes &blob, const char *why) {
    zemm_primitive_t primitive = nullptr;
    CHECK(zemm_primitive_create_from_cache_blob(&primitive, pd, blob.size(), blob.data()) ==
          zemm_invalid_arguments);
    CHECK(!primitive);
    CHECK(std::strstr(zemm_last_error(), why));
}

// The blob with the binary of its first module replaced, and a right checksum.
bytes with_another_binary(const bytes &blob) {
    zemm::ze::disk_cache::entry first;
    CHECK(!*zemm::ze::disk_cache::read_entry(blob, first));
    bytes changed = zemm::ze::disk_cache::make_entry(std::string(first.key), bytes(1000, 7));
    changed.insert(changed.end(), blob.begin() + ptrdiff_t(first.size), blob.end());
    return changed;
}

void check_damage(zemm_primitive_desc_t pd, const bytes &blob, const bytes &other) {
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
void check_result(zemm_primitive_desc_t pd, zemm_primitive_t primitive, size_t problem) {
    static float f32_ones[k * 16];
    static uint8_t int_ones[k * 16], zero[1] = {0};
    std::fill(std::begin(f32_ones), std::end(f32_ones), 1.f);
    std::fill(std::begin(int_ones), std::end(int_ones), uint8_t(1));
    float dst[3 * 16] = {};
    zemm_exec_arg_t args[4];
    int count = 0;
    own<zemm_memory_desc_t> zero_md;
    own<zemm_memory_t> memories[4];
    const zemm_dims_t one = {1};
    OK(zemm_memory_desc_create_with_tag(&zero_md, 1, one, zemm_u8, zemm_a));
    const auto pass = [&](int arg, const_zemm_memory_desc_t md, void *data) {
        OK(zemm_memory_create(&memories[count], md, engine, data));
        args[count] = {arg, memories[count]};
        count++;
    };
    void *const ones = problem == 0 ? static_cast<void *>(f32_ones) : int_ones;
    pass(ZEMM_ARG_SRC, zemm_primitive_desc_query_md(pd, zemm_query_src_md, 0), ones);
    pass(ZEMM_ARG_WEIGHTS, zemm_primitive_desc_query_md(pd, zemm_query_weights_md, 0), ones);
    pass(ZEMM_ARG_DST, zemm_primitive_desc_query_md(pd, zemm_query_dst_md, 0), dst);
    if (problem == 1)
        pass(ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_WEIGHTS, zero_md, zero);
    own<zemm_stream_t> stream;
    OK(zemm_stream_create(&stream, engine, zemm_stream_default_flags));
    OK(zemm_primitive_execute(primitive, stream, count, args));
    OK(zemm_stream_wait(stream));
    for (const float value : dst)
        CHECK(value == float(k));
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
            own<zemm_primitive_t> primitive;
            OK(zemm_primitive_create_from_cache_blob(&primitive, pd, blob.size(), blob.data()));
            if (i < 2)
                check_result(pd, primitive, i);
            CHECK(blob_of(primitive) == blob);
        }
    }
    CHECK(built == 0);
    // The driver would have refused to build.
    zemm_primitive_t primitive = nullptr;
    CHECK(zemm_primitive_create(&primitive, matmul(3, 16, zemm_bf16, zemm_bf16, false)) != zemm_success);
    CHECK(built > 0);
}

void run_part(const char *driver, const std::string &part, const char *folder) {
    setenv("ZEMM_CPU_DRIVER", driver, 1);
    refusing_driver(driver).set_judges({.module = judge_module});
    OK(zemm_engine_create(&engine, zemm_cpu, 0));
    part == "make" ? make(folder) : use(folder);
    OK(zemm_engine_destroy(engine));
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 4) {
        run_part(argv[1], argv[2], argv[3]);
        return 0;
    }
    CHECK(argc == 2);
    char folder[] = "/tmp/zemm-cache-blob-XXXXXX";
    CHECK(mkdtemp(folder));
    int failures = 0;
    for (const char *part : {"make", "use"}) {
        const std::string command = std::string(argv[0]) + " " + argv[1] + " " + part + " " + folder;
        failures += failures == 0 && std::system(command.c_str()) != 0;
    }
    std::filesystem::remove_all(folder);
    return failures;
}
