// SPDX-License-Identifier: Apache-2.0
// The measured limits of a device are plausible and consistent, or refused with a sentence.
#include <algorithm>
#include <cstring>

#include "zemm_test.hpp"

static bool has(const std::string &feature) {
    return ("," + std::string(got(zemm_engine_get_features, cpu())) + ",").find("," + feature + ",") !=
           std::string::npos;
}

TEST(bad_arguments) {
    double value = -1;
    INVALID("99", zemm_engine_measure_peak(cpu(), zemm_peak_t(99), &value));
    CHECK(value == -1); // outputs are not changed
}

// Any CPU of the last decade keeps these bounds. A wrong unit or a loop that the compiler removed breaks
// them.
TEST(limits) {
    // The feature without which the CPU device refuses; "": it never does; "software": always.
    const std::pair<zemm_peak_t, const char *> peaks[] = {{zemm_peak_int8, "avx2"},
                                                          {zemm_peak_f32, ""},
                                                          {zemm_peak_bf16, "avx512_bf16"},
                                                          {zemm_peak_amx_int8, "amx_int8"},
                                                          {zemm_peak_amx_bf16, "amx_bf16"},
                                                          {zemm_peak_amx_fp16, "amx_fp16"},
                                                          {zemm_peak_copy, ""},
                                                          {zemm_peak_read, ""},
                                                          {zemm_peak_xmx_int8, "software"},
                                                          {zemm_peak_xmx_half, "software"},
                                                          {zemm_peak_xmx_tf32, "software"}};
    const char *mask = getenv("ZEMM_DEVICE_MASK");
    CHECK(!mask || !has(mask));
    double values[64] = {};
    for (const auto &[what, feature] : peaks) {
        if (mask && (what == zemm_peak_copy || what == zemm_peak_read))
            continue; // memory has no features
        double &value = values[what];
        const zemm_status_t status = zemm_engine_measure_peak(cpu(), what, &value);
        if (*feature && !has(feature)) {
            CHECK(status == zemm_unimplemented && value == 0 && std::strstr(zemm_last_error(), feature));
            continue;
        }
        CHECK(status == zemm_success && value > 1e8 && value < 1e15);
        std::printf("%d: %g\n", int(what), value);
    }
    // A register has more of the smaller elements, so their rates differ from that of f32. Other processes
    // make any rate look low: it is then measured again.
    const auto exceeds = [&](zemm_peak_t what, double factor, zemm_peak_t other) {
        for (int i = 0; i < 5 && values[what] <= factor * values[other]; i++) {
            double again = 0;
            OK(zemm_engine_measure_peak(cpu(), what, &again));
            values[what] = std::max(values[what], again);
        }
        return values[what] > factor * values[other];
    };
    if (has("avx512_vnni")) {
        CHECK(exceeds(zemm_peak_int8, 1.5, zemm_peak_f32));
        CHECK(exceeds(zemm_peak_f32, 1 / 16., zemm_peak_int8));
    }
    if (has("amx_int8")) {
        CHECK(exceeds(zemm_peak_amx_int8, 1.5, zemm_peak_int8));
        CHECK(exceeds(zemm_peak_amx_int8, 1.5, zemm_peak_amx_bf16));
    }
}
