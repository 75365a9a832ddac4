// SPDX-License-Identifier: Apache-2.0
// Attributes as bytes, for the key of the primitive cache.
#include <type_traits>

#include "common/attr.hpp"
#include "common/md_ops.hpp"

namespace zemm {

namespace {

// Appends the bytes of values. A list starts with its length, so that different attributes never
// have the same key.
class key_writer {
public:
    template <typename... T> void add(T... values) { (add_one(values), ...); }

    void add_md(const memory_desc &md) {
        const std::vector<uint8_t> blob = md_save(md);
        key_.append(blob.begin(), blob.end());
    }

    void add_map(const quant_map &map) {
        add(map.size());
        for (const auto &[arg, e] : map)
            add(arg, e.mask, e.group_ndims, e.groups[0], e.groups[1], e.data_type, e.is_on_host, e.mode);
    }

    void add_post_op(const post_op &p) {
        add(p.kind, p.scale, p.zero_point, p.data_type, p.alg, p.alpha, p.beta, p.mask);
        if (p.kind == zemm_binary)
            add_md(p.src1), add_md(p.src2);
    }

    std::string take() { return std::move(key_); }

private:
    template <typename T> void add_one(T value) {
        static_assert(std::is_scalar_v<T>); // a struct may have padding bytes
        key_.append(reinterpret_cast<const char *>(&value), sizeof value);
    }

    std::string key_;
};

} // namespace

std::string attr_key(const zemm_primitive_attr &a) {
    key_writer key;
    key.add_map(a.scales);
    key.add_map(a.zero_points);
    key.add_map(a.precomputed_reductions);
    key.add(a.fpmath_mode, a.fpmath_apply_to_int, a.deterministic, a.accumulation_mode, a.scratchpad_mode);
    key.add(a.rounding.size());
    for (const auto &[arg, mode] : a.rounding)
        key.add(arg, mode);
    key.add(a.has_dropout, a.dropout_seed_dt, a.dropout_use_offset, a.dropout_use_host_scalars);
    if (a.has_dropout)
        key.add_md(a.dropout_mask);
    key.add(a.post_ops.entries.size());
    for (const post_op &p : a.post_ops.entries)
        key.add_post_op(p);
    return key.take();
}

} // namespace zemm
