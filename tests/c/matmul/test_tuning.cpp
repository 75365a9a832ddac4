// SPDX-License-Identifier: Apache-2.0
// Reads tuning files: right ones, wrong ones and damaged ones. Linked with libzemm's objects, because
// this is internal.
#include <random>
#include <string>

#include "common/error.hpp"
#include "matmul/choose/kernel_row.hpp"
#include "matmul/choose/tuning.hpp"
#include "same.hpp"
#include "test_case.hpp"

using namespace zemm;
using namespace zemm::matmul;

namespace {

const std::string row = "matmul_any_any_any_8x1x16_generic";

std::string refusal(const std::string &file) {
    try {
        parse_tuning(file);
    } catch (const error &e) {
        return e.what();
    }
    return "";
}

// The line that names this library, as a refusal tells it.
std::string library() {
    const std::string sentence = refusal("zemm-tuning 1\nlibrary other\n");
    const size_t begin = sentence.rfind("library ");
    return sentence.substr(begin, sentence.rfind('"') - begin);
}

TEST(choices) {
    std::string why;
    const std::optional<choice> c = parse_choice(row + ":ranges=3:rows=16", why);
    SAME(c ? c->row->name + c->cut.text() : why, row + ":rows=16:ranges=3");
    const auto refused = [&](const std::string &text) {
        why.clear();
        return parse_choice(text, why) ? "taken" : why.substr(0, why.find(" is"));
    };
    SAME(refused("matmul"), "\"matmul\"");
    SAME(refused(""), "\"\"");
    for (const char *word : {"rows", "rows=", "rows=0", "rows=-1", "rows=4097", "rows=99999999999", "rows=1x",
                             "lines=2", "", "rows= 1"})
        SAME(refused(row + ":" + word), text("\"%s\"", word));
    SAME(refused(row + ":rows=1:rows=1"), "\"rows=1\"");
}

TEST(files) {
    const std::string begin = "zemm-tuning 1\n" + library() + "\n";
    const tuning found = parse_tuning("# why\n" + begin + "\r\ndevice A\n" + row + ":rows=4 p one\n" + row +
                                      " p\ndevice B\nend\n# more\n");
    SAME(std::to_string(found.size()), "2");
    SAME(found.at("A").at("p one").cut.text(), ":rows=4");
    SAME(found.at("A").at("p").cut.text(), "");
    SAME(refusal(begin + "end"), "");
    SAME(refusal(""), "it ends early: the last line is not \"end\"");
    SAME(refusal(begin + "device A\n"), "it ends early: the last line is not \"end\"");
    SAME(refusal("zemm-tuning 2\n"),
         "line 1: the file begins with \"zemm-tuning 2\", not with \"zemm-tuning 1\"");
    SAME(refusal("zemm-tuning 1\nlibrary 0 0\n"),
         "line 2: the file was made for \"library 0 0\", this is \"" + library() + "\"");
    SAME(refusal(begin + row + " p\nend\n"), "line 3: no device comes before it");
    SAME(refusal(begin + "device A\n" + row + "\nend\n"), "line 4: it has a choice without a problem");
    SAME(refusal(begin + "device A\nmatmul_new p\nend\n"), "line 4: \"matmul_new\" is no kernel");
    SAME(refusal(begin + "end\nend\n"), "line 4: there is more behind the last line, \"end\"");
    std::string many = begin + "device A\n";
    for (int i = 0; i <= 10000; ++i)
        many += row + " " + std::to_string(i) + "\n";
    SAME(refusal(many), "line 10004: there are more than 10000 choices");
}

// Each of these is read or refused with a sentence.
TEST(damaged) {
    const std::string whole = "zemm-tuning 1\n" + library() + "\ndevice A, 2 units\n" + row +
                              ":rows=16:ranges=2 src:f32::blocked:ab::f0,,1x2:2x3\n" + row + " p\nend\n";
    SAME(refusal(whole), "");
    std::mt19937 random(7);
    int read = 0, refused = 0;
    for (int i = 0; i < 20000; ++i) {
        std::string file = whole;
        for (unsigned hits = 1 + random() % 4; hits > 0; --hits) {
            const size_t at = random() % file.size();
            const char byte = char(random() % 3 ? "\n\0 :=#d9"[random() % 8] : random());
            if (random() % 3 == 0)
                file.insert(at, random() % 5, byte);
            else if (random() % 3 == 0)
                file.erase(at, random() % 9);
            else
                file[at] = byte;
            if (file.empty())
                break;
        }
        ++(refusal(file).empty() ? read : refused);
    }
    for (size_t length = 0; length < whole.size() - 1; ++length)
        if (refusal(whole.substr(0, length)).empty())
            SAME(whole.substr(0, length), "a refusal");
    if (read < 100 || refused < 1000)
        SAME(text("%d read, %d refused", read, refused), "many of both");
}

} // namespace
