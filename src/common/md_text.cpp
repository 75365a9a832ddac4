// SPDX-License-Identifier: Apache-2.0
// Descriptors as text, for the verbose log and for sentences.
#include <algorithm>

#include "common/error.hpp"
#include "common/layout.hpp"
#include "common/md_check.hpp"
#include "common/memory_desc.hpp"
#include "common/names.hpp"

namespace zemm {

std::string dims_text(int ndims, const zemm_dim_t *dims) {
    std::string result;
    for (int d = 0; d < ndims; d++) {
        if (d)
            result += 'x';
        result += dims[d] == runtime_dim ? "*" : std::to_string(dims[d]);
    }
    return result;
}

std::string dims_text(const memory_desc &md) {
    return dims_text(md.ndims, md.dims);
}

std::string tag_text(const memory_desc &md) {
    switch (md.format_kind) {
    case zemm_format_kind_any:
        return "any";
    case zemm_format_kind_undef:
        return "undef";
    case zemm_blocked:
        return layout_text(layout_of(md));
    default:
        return "*";
    }
}

std::string md_sentence(const memory_desc &md) {
    if (md.format_kind == zemm_format_kind_sparse)
        return text("%s %s:%s, nnz %lld", data_type_name(md.data_type), dims_text(md).c_str(),
                    sparse_encoding_name(md.encoding), (long long)md.nnz);
    std::string result =
        text("%s %s:%s", data_type_name(md.data_type), dims_text(md).c_str(), tag_text(md).c_str());
    if (md_is_plain(md))
        result += ", strides " + dims_text(md.ndims, md.strides);
    if (md.offset0)
        result += text(", offset %lld", (long long)md.offset0);
    return result;
}

std::string strides_text(const memory_desc &md) {
    if (md.format_kind != zemm_blocked || md_has_runtime(md))
        return "";
    const blocks b = md_blocks(md);
    memory_desc dense = md;
    apply_layout("strides_text", dense, layout_of(md));
    for (int d = 0; d < md.ndims; d++)
        if (block_count(md, b, d) != 1 && md.strides[d] != dense.strides[d])
            return dims_text(md.ndims, md.strides);
    return "";
}

std::string md_text(const char *name, const memory_desc &md, bool user_any) {
    if (md_is_zero(md))
        return text("%s:undef::undef:::", name);
    std::string flags;
    if (user_any || md.format_kind == zemm_format_kind_any)
        flags += 'a';
    for (int d = 0; d < md.ndims; d++)
        if (md.padded_dims[d] != md.dims[d]) {
            flags += 'p';
            break;
        }
    if (md.offset0 != 0)
        flags += '0';
    std::string layout;
    if (md.format_kind == zemm_blocked) {
        const bool is_known = !std::count(md.strides, md.strides + md.ndims, runtime_dim);
        layout = (is_known ? tag_text(md) : "*") + ":" + strides_text(md);
    } else if (md.format_kind == zemm_format_kind_sparse) {
        layout = sparse_encoding_name(md.encoding);
        if (md.encoding == zemm_grouped)
            layout += text(":%d:%lld", md.variable_dim, (long long)md.group_count);
    } else {
        layout = ":";
    }
    return text("%s:%s:%s:%s:%s:f0", name, data_type_name(md.data_type), flags.c_str(),
                format_kind_name(md.format_kind), layout.c_str());
}

} // namespace zemm
