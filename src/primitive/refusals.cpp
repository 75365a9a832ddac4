// SPDX-License-Identifier: Apache-2.0
#include "primitive/refusals.hpp"

#include "common/error.hpp"
#include "common/names.hpp"
#include "common/verbose.hpp"

namespace zemm {

void refusals::add(const char *implementation, std::string why) {
    if (verbose::enabled(verbose::dispatch))
        verbose::print(text("primitive,create:dispatch,%s,%s,%s,%s", primitive_, implementation, why.c_str(),
                            shapes_().c_str()));
    reasons_.emplace_back(implementation, std::move(why));
}

void refusals::fail() const {
    std::string all;
    for (const auto &[implementation, why] : reasons_)
        all += text("; %s: %s", implementation, why.c_str());
    zemm::fail(zemm_unimplemented, "no kernel takes the %s %s%s", primitive_, shapes_().c_str(), all.c_str());
}

void refuse_sparse(const char *name, const memory_desc &md) {
    if (md.format_kind == zemm_format_kind_sparse)
        fail(zemm_unimplemented, "%s: the %s encoding is not implemented", name,
             sparse_encoding_name(md.encoding));
}

void refuse_extra(const char *name, const memory_desc &md) {
    if (md.extra_flags() != 0)
        fail(zemm_unimplemented, "%s: compensations in a tensor are not implemented (flags 0x%llx)", name,
             (unsigned long long)md.extra_flags());
}

void refuse_huge(const char *name, const memory_desc &md) {
    constexpr zemm_dim_t most = zemm_dim_t(1) << 60;
    // Empty and runtime dimensions count as 1: other dimensions are used beside them.
    zemm_dim_t volume = 1;
    for (int d = 0; d < md.ndims; ++d)
        volume *= md.dims[d] > 0 ? md.dims[d] : 1;
    if (volume > most || (!md_has_runtime(md) && md_size(md) > size_t(most)))
        fail(zemm_unimplemented, "%s: more than 2^60 elements or bytes are not implemented (%s)", name,
             md_sentence(md).c_str());
}

void refuse_shared_places(const memory_desc &dst, const char *elements) {
    const int d = md_shared_dim(dst);
    if (d >= 0)
        fail(zemm_unimplemented, "dst: stride 0 along dimension %d would put %lld %s in one place", d,
             (long long)dst.dims[d], elements);
}

} // namespace zemm
