// SPDX-License-Identifier: Apache-2.0
// The table of GPUs, and the features that follow from a model. Linked with libzemm's objects,
// because both are internal.
#include <string>

#include "same.hpp"
#include "test_case.hpp"
#include "ze/features.hpp"
#include "ze/gpu_model.hpp"

using namespace zemm::ze;

namespace {

// "family name sub-group int8 operations registers".
std::string described(ip_version ip) {
    const gpu_row row = row_of(ip);
    return std::string(family_name(row.family)) + " " + row.name + " " + std::to_string(row.sub_group) + " " +
           std::to_string(row.xmx_int8_ops) + " " + std::to_string(row.grf_bytes);
}

// The IP versions by which compute-runtime knows the products.
TEST(ip_versions) {
    SAME(described({0x03000000}), "xe_lp Xe-LP 8 0 32");        // TGL
    SAME(described({0x03028000}), "xe_lp Xe-LP 8 0 32");        // DG1
    SAME(described({0x030dc008}), "xe_hpg Xe-HPG 8 256 32");    // DG2 G10 C0
    SAME(described({0x030e4000}), "xe_hpg Xe-HPG 8 256 32");    // DG2 G12
    SAME(described({0x030f0007}), "xe_hpc Xe-HPC 16 1024 64");  // PVC XT C0
    SAME(described({0x030f4007}), "xe_hpc Xe-HPC VG 16 0 64");  // PVC XT C0 VG
    SAME(described({0x03118004}), "xe_hpg Xe-LPG 8 0 32");      // MTL U
    SAME(described({0x0311c004}), "xe_hpg Xe-LPG 8 0 32");      // MTL H
    SAME(described({0x03128004}), "xe_hpg Xe-LPG+ 8 256 32");   // ARL H
    SAME(described({0x05004000}), "xe2 Xe2-HPG 16 512 64");     // BMG G21
    SAME(described({0x05008000}), "xe2 Xe2-HPG 16 512 64");     // BMG G31
    SAME(described({0x05010004}), "xe2 Xe2-LPG 16 512 64");     // LNL
    SAME(described({0x07800000}), "xe3 Xe3-LPG 16 512 64");     // PTL H
    SAME(described({0x07804000}), "xe3 Xe3-LPG 16 512 64");     // PTL U
    SAME(described({0x02c00000}), "older older than Xe 0 0 0"); // 11.0
    SAME(described({0x08c2c000}), "unknown unknown 0 0 0");     // 35.11 is later than this table
    SAME(described({0x030c8000}), "unknown unknown 0 0 0");     // 12.50 lies between rows
    SAME(described({}), "unknown unknown 0 0 0");
    SAME(ip_version{0x030f0007}.text(), "12.60");
}

TEST(device_ids) {
    const auto found = [](uint32_t id, uint32_t vendor = 0x8086) {
        const ip_version ip = ip_of_device_id(vendor, id);
        return ip.value ? ip.text() : "none";
    };
    SAME(found(0x0bd5), "12.60");
    SAME(found(0x0bd4), "12.61");
    SAME(found(0x56a0), "12.55"); // Arc A770
    SAME(found(0x56c0), "12.55"); // Flex 170
    SAME(found(0x56c1), "12.56"); // Flex 140
    SAME(found(0x5697), "12.57");
    SAME(found(0x7d55), "12.71");
    SAME(found(0x7d51), "12.74");
    SAME(found(0x9a49), "12.0");
    SAME(found(0x46d1), "12.4");
    SAME(found(0), "none");
    SAME(found(0xffff), "none");
    SAME(found(0x56a0, 0x1002), "none"); // another vendor's device
}

std::string features(uint32_t ip, bool xmx, bool dp4a = true) {
    gpu_model model = {};
    static_cast<gpu_row &>(model) = row_of({ip});
    model.xmx = xmx;
    model.dp4a = dp4a;
    return gpu_features(model).names();
}

TEST(feature_sets) {
    SAME(features(0x030f0007, true), "dp4a,xmx,block_2d,tf32");
    SAME(features(0x030f0007, false), "dp4a,block_2d"); // a driver that reports no DPAS
    SAME(features(0x030dc008, true), "dp4a,xmx");
    SAME(features(0x03118004, false), "dp4a");
    SAME(features(0x05004000, true), "dp4a,xmx,block_2d,tf32");
    SAME(features(0x08c2c000, true), "dp4a,xmx"); // an unknown device: its flags decide
    SAME(features(0, false, false), "");
    feature_set set = gpu_features(gpu_model{row_of({0x05004000}), {}, true, true});
    set.hide(feature::xmx);
    SAME(set.names(), "dp4a,block_2d");
}

TEST(texts) {
    gpu_model model = {row_of({0x05004000}), {0x05004000}, true, true, 20, 8, 131072, 18874368, 2850,
                       12884901888,          4294967296};
    SAME(model.text(), "family=xe2,name=Xe2-HPG,ip=20.1,xe_cores=20,xves_per_core=8,sub_group=16,"
                       "xmx_int8_ops=512,xmx_f16_ops=256,grf_bytes=64,threads_128=8,threads_256=4,"
                       "slm_per_core=131072,slm_per_group=131072,l1_per_core=262144,l2_bytes=18874368,"
                       "clock_mhz=2850,memory_bytes=12884901888,max_alloc_bytes=4294967296");
    SAME(std::to_string(model.xves()), "160");
    SAME(gpu_model().text(), "family=unknown,name=unknown,xe_cores=0,xves_per_core=0,sub_group=0");
}

} // namespace
