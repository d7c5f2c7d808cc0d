// SPDX-License-Identifier: BSD-2-Clause
//
// The module hyperperiod._convert: traces in other formats. src/hyperperiod/_convert.pyi is the
// same in Python's words.

#include "columns.hpp"
#include "csv.hpp"
#include "perfetto.hpp"
#include "perfetto_fields.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <span>
#include <stdexcept>

namespace nb = nanobind;
using namespace nb::literals;

namespace hyperperiod::trace {

namespace {

using Names = std::vector<std::string>;

// The records of an array of them, which stays as it is as long as this lives.
class Records {
  public:
    explicit Records(nb::handle array) {
        if (PyObject_GetBuffer(array.ptr(), &buffer_, PyBUF_SIMPLE) != 0)
            throw nb::python_error();
    }
    ~Records() { PyBuffer_Release(&buffer_); }
    Records(const Records &) = delete;
    Records &operator=(const Records &) = delete;

    std::span<const Record> all() const {
        return {static_cast<const Record *>(buffer_.buf),
                static_cast<std::size_t>(buffer_.len) / sizeof(Record)};
    }

  private:
    Py_buffer buffer_;
};

Machine machine_of(u32 pcpus, const std::vector<std::pair<std::string, bool>> &vcpus,
                   const std::vector<std::pair<std::string, std::string>> &tasks, Names flows,
                   bool has_one_spare, Names budgets, Names orders, Names slacks) {
    Machine machine{.pcpus = pcpus,
                    .vcpus = {},
                    .tasks = {},
                    .flows = std::move(flows),
                    .has_one_spare = has_one_spare,
                    .budgets = std::move(budgets),
                    .orders = std::move(orders),
                    .slacks = std::move(slacks)};
    for (const auto &[name, has_server] : vcpus)
        machine.vcpus.push_back({name, has_server});
    for (const auto &[domain, name] : tasks)
        machine.tasks.push_back({domain, name});
    return machine;
}

// What has been written, which the writer then forgets.
template <class Writer> nb::bytes taken(Writer &writer) {
    const std::string_view bytes = writer.bytes();
    nb::bytes copy(bytes.data(), bytes.size());
    writer.clear();
    return copy;
}

// The records of an array in the writer's format.
template <class Writer> nb::bytes written(Writer &writer, nb::handle array) {
    const Records records(array);
    {
        nb::gil_scoped_release others_may_run;
        for (const Record &record : records.all())
            writer.add(record);
    }
    return taken(writer);
}

nb::bytes last_packets(PerfettoWriter &writer, u64 now_ns) {
    writer.end(now_ns);
    return taken(writer);
}

// Bytes for so many bits, or numbers; what is in them is not known yet.
class Room {
  public:
    explicit Room(std::size_t size)
        : bytes_(nb::steal<nb::bytes>(
              PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)))) {
        if (!bytes_.is_valid())
            throw nb::python_error();
    }

    template <class Number> Number *as() const {
        return reinterpret_cast<Number *>(PyBytes_AsString(bytes_.ptr()));
    }
    const nb::bytes &bytes() const { return bytes_; }

  private:
    nb::bytes bytes_;
};

// The columns of the records of an array, in the order of a record's fields: for each the bits
// that say which records have one (or None), and the numbers or bits.
nb::list columns(const ColumnWriter &writer, nb::handle array) {
    const Records records(array);
    const std::size_t count = records.all().size();
    const auto numbers = [count](std::size_t size) { return Room(count * size); };
    const auto bits = [count] { return Room((count + 7) / 8); };
    const Room time_ns = numbers(8), kind = numbers(4), pcpu = numbers(2), vcpu = numbers(4),
               payer = numbers(4), task = numbers(4), job = numbers(4), value = numbers(8);
    const Room has_pcpu = bits(), has_vcpu = bits(), has_payer = bits(), has_task = bits(),
               has_job = bits(), also_pays = bits(), extra_time = bits(), stolen = bits();
    const Columns room{.time_ns = time_ns.as<u64>(),
                       .kind = kind.as<u32>(),
                       .pcpu = pcpu.as<u16>(),
                       .has_pcpu = has_pcpu.as<u8>(),
                       .vcpu = vcpu.as<u32>(),
                       .has_vcpu = has_vcpu.as<u8>(),
                       .payer = payer.as<u32>(),
                       .has_payer = has_payer.as<u8>(),
                       .task = task.as<u32>(),
                       .has_task = has_task.as<u8>(),
                       .job = job.as<u32>(),
                       .has_job = has_job.as<u8>(),
                       .value = value.as<u64>(),
                       .also_pays = also_pays.as<u8>(),
                       .extra_time = extra_time.as<u8>(),
                       .stolen = stolen.as<u8>()};
    {
        nb::gil_scoped_release others_may_run;
        writer.write(records.all(), room);
    }
    nb::list all;
    const auto append = [&all](nb::object which, const Room &what) {
        all.append(nb::make_tuple(std::move(which), what.bytes()));
    };
    append(nb::none(), time_ns);
    append(nb::none(), kind);
    append(has_pcpu.bytes(), pcpu);
    append(has_vcpu.bytes(), vcpu);
    append(has_payer.bytes(), payer);
    append(has_task.bytes(), task);
    append(has_job.bytes(), job);
    append(nb::none(), value);
    append(nb::none(), also_pays);
    append(nb::none(), extra_time);
    append(nb::none(), stolen);
    return all;
}

nb::tuple fields() {
    nb::list rows;
#define ROW(message, name, number) rows.append(nb::make_tuple(#message, #name, number));
    PERFETTO_FIELDS(ROW)
#undef ROW
    return nb::tuple(rows);
}

nb::tuple values() {
    nb::list rows;
#define ROW(message, name, number) rows.append(nb::make_tuple(#message, #name, number));
    PERFETTO_VALUES(ROW)
#undef ROW
    return nb::tuple(rows);
}

} // namespace

} // namespace hyperperiod::trace

NB_MODULE(_convert, module) {
    using namespace hyperperiod::trace;

    // What an error still holds when the interpreter ends is no fault of the user's.
    nb::set_leak_warnings(false);
    nb::class_<PerfettoWriter>(module, "Perfetto")
        .def(
            "__init__",
            [](PerfettoWriter *self, u32 pcpus,
               const std::vector<std::pair<std::string, bool>> &vcpus,
               const std::vector<std::pair<std::string, std::string>> &tasks, Names flows,
               bool has_one_spare, Names budgets, Names orders, Names slacks) {
                new (self) PerfettoWriter(machine_of(pcpus, vcpus, tasks, std::move(flows),
                                                     has_one_spare, std::move(budgets),
                                                     std::move(orders), std::move(slacks)));
            },
            nb::kw_only(), "pcpus"_a, "vcpus"_a, "tasks"_a, "flows"_a, "has_one_spare"_a,
            "budgets"_a, "orders"_a, "slacks"_a)
        .def("packets", &written<PerfettoWriter>, "records"_a)
        .def("last_packets", &last_packets, "now_ns"_a);
    nb::class_<CsvWriter>(module, "Csv")
        .def(nb::init<Names, Names>(), nb::kw_only(), "vcpus"_a, "tasks"_a)
        .def("rows", &written<CsvWriter>, "records"_a);
    nb::class_<ColumnWriter>(module, "Columns")
        .def(nb::init<u32>(), nb::kw_only(), "vcpus"_a)
        .def("columns", &columns, "records"_a);
    module.attr("PERFETTO_FIELDS") = fields();
    module.attr("PERFETTO_VALUES") = values();
}
