// SPDX-License-Identifier: BSD-2-Clause

#include "csv.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace hyperperiod::trace {

namespace {

const std::string NOBODY;
const std::string SPARE_NAME = "spare";

// All columns but the names: five numbers of at most 20 digits, three of `true` and `false`, and
// commas.
constexpr std::size_t ROOM = 5 * 20 + 3 * 5 + 11;

// A name as RFC 4180 has it: in quotes if it holds what separates fields, rows or itself.
std::string quoted(const std::string &name) {
    if (name.find_first_of(",\"\r\n") == std::string::npos)
        return name;
    std::string text = "\"";
    for (const char letter : name)
        text += letter == '"' ? std::string("\"\"") : std::string(1, letter);
    return text + '"';
}

std::size_t longest(const std::vector<std::string> &names) {
    std::size_t size = SPARE_NAME.size();
    for (const std::string &name : names)
        size = std::max(size, name.size());
    return size;
}

template <class Number> char *put_number(char *at, Number number) {
    return std::to_chars(at, at + 20, number).ptr;
}

char *put_text(char *at, std::string_view text) {
    std::memcpy(at, text.data(), text.size());
    return at + text.size();
}

} // namespace

CsvWriter::CsvWriter(Names vcpus, Names tasks)
    : vcpus_(std::move(vcpus)), tasks_(std::move(tasks)) {
    for (Names *names : {&vcpus_, &tasks_})
        for (std::string &name : *names)
            name = quoted(name);
    longest_row_ = ROOM + 2 * longest(vcpus_) + longest(tasks_);
    for (const KindRow &kind : kind_rows)
        longest_row_ =
            std::max(longest_row_, ROOM + 2 * longest(vcpus_) + longest(tasks_) + kind.name.size());
}

const std::string &CsvWriter::server(u16 id) const {
    return id == nobody ? NOBODY : id == spare_id ? SPARE_NAME : vcpus_.at(id);
}

void CsvWriter::add(const Record &record) {
    char *at = out_.room(longest_row_);

    at = put_number(at, record.time);
    *at++ = ',';
    at = put_text(at, record.row().name);
    *at++ = ',';
    if (record.pcpu != nobody)
        at = put_number(at, record.pcpu);
    *at++ = ',';
    at = put_text(at, server(record.vcpu));
    *at++ = ',';
    at = put_text(at, server(record.payer));
    *at++ = ',';
    at = put_text(at, record.task == nobody ? NOBODY : tasks_.at(record.task));
    *at++ = ',';
    if (record.has_job())
        at = put_number(at, record.job);
    *at++ = ',';
    at = put_number(at, static_cast<std::int64_t>(record.value));
    at = put_text(at, record.has(HP_RECORD_SECOND_PAYER) ? ",true" : ",false");
    at = put_text(at, record.has(HP_RECORD_EXTRA) ? ",true" : ",false");
    at = put_text(at, record.has(HP_RECORD_STOLEN) ? ",true\n" : ",false\n");
    out_.written(at);
}

} // namespace hyperperiod::trace
