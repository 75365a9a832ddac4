// SPDX-License-Identifier: Apache-2.0
#include "matmul/choose/tuning.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/env.hpp"
#include "common/error.hpp"
#include "common/verbose.hpp"
#include "common/version.hpp"
#include "matmul/choose/kernel_row.hpp"
#include "primitive/spirv.hpp"
#include "zemm/zemm.h"

namespace zemm::matmul {

namespace {

constexpr std::string_view format = "zemm-tuning 1", last_line = "end";
constexpr size_t largest_file = 1 << 20, most_choices = 10000;

// FNV-1a.
uint64_t hash(std::string_view bytes, uint64_t seed = 0xcbf29ce484222325) {
    for (const char byte : bytes)
        seed = (seed ^ uint8_t(byte)) * 0x100000001b3;
    return seed;
}

// Another library may have rows of the same names that are faster or slower.
const std::string &library_line() {
    static const std::string &line = *new std::string([] {
        const zemm_version_t &v = version();
        uint64_t kernels = hash("");
        for (unsigned i = 0; i < spirv_count; ++i)
            kernels = hash(spirv_table[i].hash, hash(spirv_table[i].name, kernels));
        return text("library %d.%d.%d %016llx", v.major, v.minor, v.patch, (unsigned long long)kernels);
    }());
    return line;
}

// The hash is of all that a module built for the device depends on.
std::string device_text(const ze::device &dev) {
    std::string line =
        text("%s, %u units, %s, %s, %016llx", zemm_engine_kind2str(dev.kind), dev.compute_units,
             dev.name.c_str(), dev.feature_names.c_str(), (unsigned long long)hash(dev.identity));
    for (char &c : line)
        c = uint8_t(c) < ' ' ? ' ' : c; // a driver may give any name
    return line;
}

// The problem as in the log, without what makes no kernel faster: who has the scratchpad, and which
// of the plain tensors had tag any.
std::string problem_text(const problem &p, const memory_desc &wei) {
    std::string line = md_text("src", p.src, false) + " " + md_text("wei", wei, false);
    if (p.has_bias())
        line += " " + md_text("bia", p.bias, false) + " " + dims_text(p.bias);
    line += " " + md_text("dst", p.dst, false);
    zemm_primitive_attr attr = p.attr;
    attr.scratchpad_mode = zemm_scratchpad_mode_library;
    return line + "," + attr_text(attr) + "," + dims_line(p);
}

// ---- the file

[[noreturn]] void refuse(int line, const std::string &why) {
    fail(zemm_invalid_arguments, "line %d: %s", line, why.c_str());
}

std::string shown(std::string_view text) {
    return std::string(text.substr(0, 100));
}

} // namespace

tuning parse_tuning(std::string_view file) {
    tuning result;
    std::unordered_map<std::string, choice> *of_device = nullptr;
    bool has_format = false, has_library = false, has_end = false;
    size_t choices = 0;
    for (int number = 1; !file.empty(); ++number) {
        const size_t length = std::min(file.find('\n'), file.size());
        std::string_view line = file.substr(0, length);
        file.remove_prefix(std::min(length + 1, file.size()));
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        if (line.empty() || line.starts_with('#'))
            continue;
        if (has_end)
            refuse(number, "there is more behind the last line, \"end\"");
        if (!has_format) {
            if (line != format)
                refuse(number, text("the file begins with \"%s\", not with \"%s\"", shown(line).c_str(),
                                    std::string(format).c_str()));
            has_format = true;
        } else if (!has_library) {
            if (line != library_line())
                refuse(number, text("the file was made for \"%s\", this is \"%s\"", shown(line).c_str(),
                                    library_line().c_str()));
            has_library = true;
        } else if (line == last_line) {
            has_end = true;
        } else if (line.starts_with("device ")) {
            of_device = &result[std::string(line.substr(7))];
        } else {
            const size_t space = line.find(' ');
            if (!of_device || space == std::string_view::npos)
                refuse(number, of_device ? "it has a choice without a problem" : "no device comes before it");
            if (++choices > most_choices)
                refuse(number, text("there are more than %zu choices", most_choices));
            std::string why;
            const std::optional<choice> c = parse_choice(line.substr(0, space), why);
            if (!c)
                refuse(number, why);
            (*of_device)[std::string(line.substr(space + 1))] = *c;
        }
    }
    if (!has_end)
        fail(zemm_invalid_arguments, "it ends early: the last line is not \"end\"");
    return result;
}

namespace {

struct file_handle {
    int fd;
    ~file_handle() {
        if (fd >= 0)
            close(fd);
    }
};

// Throws runtime_error if the file cannot be read.
std::string read_file(const std::string &path) {
    // O_NONBLOCK: do not wait if the file is a pipe.
    const file_handle file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    struct stat s;
    if (file.fd < 0 || fstat(file.fd, &s))
        fail(zemm_runtime_error, "%s", std::strerror(errno));
    if (!S_ISREG(s.st_mode))
        fail(zemm_runtime_error, "it is no ordinary file");
    if (size_t(s.st_size) > largest_file)
        fail(zemm_runtime_error, "it has more than %zu bytes", largest_file);
    std::string content(size_t(s.st_size), '\0');
    size_t filled = 0;
    while (filled < content.size()) {
        const ssize_t got = read(file.fd, content.data() + filled, content.size() - filled);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            fail(zemm_runtime_error, "%s", got < 0 ? std::strerror(errno) : "it became shorter");
        filled += size_t(got);
    }
    return content;
}

void warn(const std::string &sentence) {
    verbose::print_once(verbose::warn, "common,warn,ZEMM_TUNING: " + sentence);
}

struct loaded {
    const std::string path = env("ZEMM_TUNING");
    tuning choices;

    loaded() {
        if (path.empty())
            return;
        try {
            choices = parse_tuning(read_file(path));
        } catch (const error &e) {
            warn(text("%s is not used: %s (zemm-tune makes it again)", path.c_str(), e.what()));
        }
    }
};

// Never destroyed: threads may create primitives while the process ends.
const loaded &the_tuning() {
    static const loaded &instance = *new loaded;
    return instance;
}

} // namespace

const choice *tuned(const problem &p, const ze::device &dev) {
    const loaded &file = the_tuning();
    if (file.choices.empty())
        return nullptr;
    const std::string device = device_text(dev);
    const auto of_device = file.choices.find(device);
    if (of_device == file.choices.end()) {
        warn(text("%s has no choices for this device, \"%s\", but for \"%s\" (zemm-tune makes them)",
                  file.path.c_str(), device.c_str(), shown(file.choices.begin()->first).c_str()));
        return nullptr;
    }
    if (verbose::enabled(verbose::dispatch))
        verbose::print_once(verbose::dispatch,
                            text("common,info,ZEMM_TUNING: %s has %zu choices for this device, \"%s\"",
                                 file.path.c_str(), of_device->second.size(), device.c_str()));
    const auto found = of_device->second.find(problem_text(p, p.wei));
    return found == of_device->second.end() ? nullptr : &found->second;
}

void warn_unused(const problem &p, const choice &c, const std::string &why) {
    verbose::print_once(verbose::warn,
                        text("primitive,warn,matmul,the choice of ZEMM_TUNING is not used: %s%s: %s,%s",
                             c.row->name, c.cut.text().c_str(), why.c_str(), dims_line(p).c_str()));
}

std::string tuning_text(const problem &p, const ze::device &dev, const choice &c) {
    std::string file = std::string(format) + "\n" + library_line() + "\ndevice " + device_text(dev) + "\n";
    const auto add = [&](const memory_desc &wei) {
        file += c.row->name + c.cut.text() + " " + problem_text(p, wei) + "\n";
    };
    if (p.was_any.wei)
        add(md_with_tag(p.wei.ndims, p.wei.dims, p.wei.data_type, zemm_format_tag_any));
    add(p.wei);
    return file + std::string(last_line) + "\n";
}

namespace {

struct part {
    const char *name;
    zemm_dim_t cut_choice::*value;
};
constexpr part parts[] = {
    {"rows", &cut_choice::rows},
    {"ranges", &cut_choice::ranges},
    {"slices", &cut_choice::slices},
    {"strip", &cut_choice::strip},
};

constexpr int32_t largest_number = 4096; // more would not be faster

bool parse_part(std::string_view word, cut_choice &cut) {
    const size_t equals = word.find('=');
    for (const part &p : parts) {
        if (equals == std::string_view::npos || word.substr(0, equals) != p.name || cut.*p.value != 0)
            continue;
        const std::string_view number = word.substr(equals + 1);
        const char *const end = number.data() + number.size();
        int32_t value = 0;
        const auto [rest, failure] = std::from_chars(number.data(), end, value);
        cut.*p.value = value;
        return failure == std::errc() && rest == end && value > 0 && value <= largest_number;
    }
    return false;
}

} // namespace

std::string cut_choice::text() const {
    std::string words;
    for (const part &p : parts)
        if (this->*p.value != 0)
            words += zemm::text(":%s=%lld", p.name, (long long)(this->*p.value));
    return words;
}

zemm_dim_t strip_of(const cut_choice &chosen, zemm_dim_t best, zemm_dim_t along_m, const kernel_row &row) {
    if (chosen.strip > along_m)
        fail(zemm_unimplemented, "M has %lld work-groups for %s, a strip has no %lld", (long long)along_m,
             row.name, (long long)chosen.strip);
    return chosen.strip != 0 ? chosen.strip : std::clamp<zemm_dim_t>(best, 1, along_m);
}

std::optional<choice> parse_choice(std::string_view text, std::string &why) {
    size_t end = std::min(text.find(':'), text.size());
    choice result = {.row = find_row(text.substr(0, end))};
    if (!result.row) {
        why = zemm::text("\"%.*s\" is no kernel", int(std::min<size_t>(end, 100)), text.data());
        return std::nullopt;
    }
    while (end < text.size()) {
        const size_t begin = end + 1;
        end = std::min(text.find(':', begin), text.size());
        const std::string_view word = text.substr(begin, end - begin);
        if (!parse_part(word, result.cut)) {
            why = zemm::text("\"%.*s\" is neither rows=, ranges=, slices= nor strip= with a number from 1 to "
                             "%d, or is there twice",
                             int(std::min<size_t>(word.size(), 100)), word.data(), largest_number);
            return std::nullopt;
        }
    }
    return result;
}

} // namespace zemm::matmul
