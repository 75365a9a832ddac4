// SPDX-License-Identifier: Apache-2.0
// Reads ZEMM_VERBOSE and prints log lines.
#include "common/verbose.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <set>

#include "common/env.hpp"
#include "common/error.hpp"
#include "common/version.hpp"

namespace zemm::verbose {

namespace {

constexpr unsigned level_flags[] = {0, error | warn | profile_exec,
                                    error | warn | profile_exec | profile_create};

struct token {
    const char *name;
    unsigned flags;
};
constexpr token tokens[] = {
    {"error", error},
    {"warn", warn},
    {"check", check},
    {"dispatch", dispatch},
    {"profile_create", profile_create},
    {"profile_exec", profile_exec},
    {"profile", profile_create | profile_exec},
    {"plan", plan},
    {"all", error | warn | check | dispatch | profile_create | profile_exec},
    {"1", level_flags[1]},
    {"2", level_flags[2]},
};

// Errors are logged unless the list has "none" or "0". An unknown word is named in the log, because there is
// no caller to refuse it to; but oneDNN's variable has words of its own.
unsigned flags_of(const std::string &list) {
    unsigned flags = error;
    std::string unknown;
    for (const std::string &word : comma_list(list)) {
        if (word == "none" || word == "0")
            return 0;
        const auto *found = std::ranges::find(tokens, word, &token::name);
        if (found != std::end(tokens))
            flags |= found->flags;
        else if (unknown.empty())
            unknown = word;
    }
    if (!unknown.empty() && secure_getenv("ZEMM_VERBOSE"))
        print("common,warn,ZEMM_VERBOSE: \"" + unknown + "\" is no word for it and logs nothing");
    const std::string time = env("ZEMM_VERBOSE_TIMESTAMP");
    if ((flags & warn) && time != "" && time != "0" && time != "1")
        print("common,warn,ZEMM_VERBOSE_TIMESTAMP: \"" + time + "\" is not 0 or 1: it is as if not set");
    return flags;
}

std::atomic<unsigned> &flags() {
    static std::atomic<unsigned> value{flags_of(env("ZEMM_VERBOSE"))};
    return value;
}

// The time as "1700000000000.123456,", in milliseconds since the epoch; "" unless
// ZEMM_VERBOSE_TIMESTAMP is 1.
std::string timestamp() {
    static const bool wanted = env("ZEMM_VERBOSE_TIMESTAMP") == "1";
    if (!wanted)
        return "";
    const std::chrono::duration<double, std::milli> now = std::chrono::system_clock::now().time_since_epoch();
    return text("%.6f,", now.count());
}

std::atomic<const char *> prefix{"zemm_verbose,v1,"};

void write(const std::string &line) {
    const std::string whole = prefix.load() + timestamp() + line + "\n";
    std::fwrite(whole.data(), 1, whole.size(), stdout);
    std::fflush(stdout);
}

void write_header() {
    const zemm_version_t &v = version();
    write(text("info,zemm v%d.%d.%d (commit %s)", v.major, v.minor, v.patch, v.hash));
    write("primitive,info,template:operation,engine,primitive,implementation,prop_kind,memory_descriptors,"
          "attributes,auxiliary,problem_desc,exec_time");
}

} // namespace

bool enabled(unsigned wanted) {
    return flags().load(std::memory_order_relaxed) & wanted;
}

void set_level(int level) {
    if (level < 0 || level >= int(std::size(level_flags)))
        fail(zemm_invalid_arguments, "zemm_set_verbose: level %d is not 0, 1 or 2", level);
    flags() = level_flags[level];
}

void speak_as_onednn() {
    prefix = "onednn_verbose,v1,";
}

void print(const std::string &line) {
    // Not std::call_once(): where memory runs out, nothing can be thrown through the C library's function.
    [[maybe_unused]] static const bool has_header = (write_header(), true);
    write(line);
}

void print_once(unsigned levels, const std::string &line) {
    static auto &lock = *new std::mutex;
    static auto &said = *new std::set<std::string>;
    if (!enabled(levels))
        return;
    const std::lock_guard hold(lock);
    if (said.insert(line).second)
        print(line);
}

void warn_of_variable(const char *name, const std::string &expected) {
    if (const char *value = secure_getenv(name))
        print_once(warn, text("common,warn,%s: \"%.100s\" is not %s: it is as if not set", name, value,
                              expected.c_str()));
}

} // namespace zemm::verbose
