// SPDX-License-Identifier: Apache-2.0
// Descriptors as blobs of bytes: a magic word, a version and every field as int64. So the bytes
// depend neither on the compiler's padding nor on its width of enums.
#include <algorithm>
#include <cstring>

#include "common/error.hpp"
#include "common/md_check.hpp"
#include "common/md_ops.hpp"
#include "common/names.hpp"

namespace zemm {

namespace {

constexpr int64_t magic = 0x31444d4d4d455a; // "ZEMMMD1"
constexpr int64_t version = 1;

// Calls f with every field, in their order in the blob.
template <typename D, typename F> void each_field(D &md, F &&f) {
    f(md.ndims), f(md.data_type), f(md.format_kind), f(md.offset0), f(md.inner_nblks);
    for (int d = 0; d < ZEMM_MAX_NDIMS; d++) {
        f(md.dims[d]), f(md.padded_dims[d]), f(md.padded_offsets[d]);
        f(md.strides[d]), f(md.inner_blks[d]), f(md.inner_idxs[d]);
    }
    f(md.encoding), f(md.nnz), f(md.metadata_types[0]), f(md.metadata_types[1]);
    f(md.variable_dim), f(md.group_count);
}

// A copy with only the fields that descriptors of this format kind use. The others are empty, as
// the functions that create descriptors leave them.
memory_desc canonical(const memory_desc &md) {
    memory_desc out;
    out.ndims = md.ndims;
    out.data_type = md.data_type;
    out.format_kind = md.format_kind;
    const bool blocked = md.format_kind == zemm_blocked || md_has_packed_layout(md);
    for (int d = 0; d < md.ndims; d++) {
        out.dims[d] = md.dims[d];
        out.padded_dims[d] = md.padded_dims[d];
        if (blocked)
            out.strides[d] = md.strides[d];
    }
    if (md.format_kind == zemm_blocked)
        out.offset0 = md.offset0;
    if (blocked) {
        out.inner_nblks = md.inner_nblks;
        std::copy_n(md.inner_blks, md.inner_nblks, out.inner_blks);
        std::copy_n(md.inner_idxs, md.inner_nblks, out.inner_idxs);
    }
    if (md.format_kind == zemm_format_kind_sparse) {
        out.encoding = md.encoding;
        out.nnz = md.nnz;
        std::copy_n(md.metadata_types, 2, out.metadata_types);
        out.variable_dim = md.variable_dim;
        out.group_count = md.group_count;
    }
    return out;
}

} // namespace

size_t md_blob_size() {
    size_t words = 2;
    memory_desc md;
    each_field(md, [&](auto) { words++; });
    return words * sizeof(int64_t);
}

std::vector<uint8_t> md_save(const memory_desc &md) {
    std::vector<uint8_t> blob(md_blob_size());
    uint8_t *at = blob.data();
    const auto put = [&](int64_t word) {
        std::memcpy(at, &word, sizeof word);
        at += sizeof word;
    };
    put(magic), put(version);
    each_field(md, [&](auto value) { put(int64_t(value)); });
    return blob;
}

memory_desc md_load(const uint8_t *blob) {
    const char *const caller = "zemm_memory_desc_create_with_blob";
    const auto next = [&] {
        int64_t word;
        std::memcpy(&word, blob, sizeof word);
        blob += sizeof word;
        return word;
    };
    if (next() != magic)
        fail(zemm_invalid_arguments, "%s: blob is no memory descriptor", caller);
    if (const int64_t v = next(); v != version)
        fail(zemm_invalid_arguments, "%s: blob has version %lld, this library writes %lld", caller,
             (long long)v, (long long)version);
    memory_desc md;
    int position = 0;
    each_field(md, [&](auto &field) {
        using type = std::remove_reference_t<decltype(field)>;
        const int64_t word = next();
        // The conversion to an int or an enum would cut off the upper bits, so check them before.
        if constexpr (sizeof(type) < sizeof word)
            if (word < 0 || word > INT16_MAX)
                fail(zemm_invalid_arguments, "%s: field %d of the blob is %lld", caller, position,
                     (long long)word);
        field = type(word);
        position++;
    });
    check_md(caller, md);
    if (md_save(md) != md_save(canonical(md)))
        fail(zemm_invalid_arguments, "%s: the blob fills fields that format %s does not use", caller,
             format_kind_name(md.format_kind));
    return md;
}

} // namespace zemm
