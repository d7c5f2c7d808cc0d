// SPDX-License-Identifier: BSD-2-Clause
//
// The core itself as a Python class, for tests that drive it call by call. Nothing is added:
// times, numbers and error codes are those of core/hyperperiod.h, with None for HP_NONE and the
// text "spare" for HP_SPARE. The capacity is 64, so that a set of vcpus is one word, as on
// every real host.

#define HP_VCPUS 64u

#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <stdexcept>
#include <string>
#include <tuple>

namespace hyperperiod::sim::bare {

#include "core/hyperperiod.h"

namespace nb = nanobind;

class Core {
  public:
    Core(hp_u32 budget, hp_u32 order, hp_u32 slack, hp_u32 pcpus, hp_u64 quantum_ns,
         hp_u64 spare_period_ns, hp_u64 spare_budget_ns, hp_u64 now_ns, bool reports_saved)
        : core_(std::make_unique<hp_core>()) {
        hp_config config{};

        config.policy = {budget, order, slack};
        config.pcpus = pcpus;
        config.quantum_ns = quantum_ns;
        config.spare_period_ns = spare_period_ns;
        config.spare_budget_ns = spare_budget_ns;
        config.reports_saved = reports_saved;
        const hp_u32 error = hp_init(core_.get(), &config, now_ns);

        if (error != HP_OK)
            throw std::invalid_argument("hp_init: error " + std::to_string(error));
    }

    hp_u32 add(hp_u32 vcpu, hp_u64 period_ns, hp_u64 budget_ns, hp_u32 priority, hp_u32 flags,
               hp_u64 now_ns, hp_u32 weight) {
        const hp_params params{period_ns, budget_ns, priority, flags, weight};

        return hp_add(core_.get(), vcpu, &params, now_ns);
    }
    hp_u32 update(hp_u32 vcpu, hp_u64 period_ns, hp_u64 budget_ns, hp_u32 priority, hp_u32 flags,
                  hp_u64 now_ns, hp_u32 weight) {
        const hp_params params{period_ns, budget_ns, priority, flags, weight};

        return hp_update(core_.get(), vcpu, &params, now_ns);
    }
    hp_u32 remove(hp_u32 vcpu, hp_u64 now_ns) { return hp_remove(core_.get(), vcpu, now_ns); }
    void arrive(hp_u32 vcpu, hp_u64 now_ns) { hp_arrive(core_.get(), vcpu, now_ns); }
    void depart(hp_u32 vcpu, hp_u64 now_ns) { hp_depart(core_.get(), vcpu, now_ns); }
    void steal(hp_u32 pcpu, hp_u64 now_ns) {
        if (pcpu >= hp_pcpus(core_.get()))
            throw std::out_of_range("no such pcpu");
        hp_steal(core_.get(), pcpu, now_ns);
    }
    void give_back(hp_u32 pcpu, hp_u64 now_ns) {
        if (pcpu >= hp_pcpus(core_.get()))
            throw std::out_of_range("no such pcpu");
        hp_return(core_.get(), pcpu, now_ns);
    }
    hp_u32 add_pcpu(hp_u64 now_ns) { return hp_add_pcpu(core_.get(), now_ns); }
    hp_u32 drop_pcpu(hp_u32 pcpu, hp_u64 now_ns) { return hp_drop_pcpu(core_.get(), pcpu, now_ns); }
    void saved(hp_u32 vcpu, hp_u64 now_ns) {
        if (!hp_present(core_.get(), vcpu))
            throw std::out_of_range("no such vcpu");
        hp_saved(core_.get(), vcpu, now_ns);
    }
    void bind_vcpu(hp_u32 vcpu, hp_u64 pcpus) {
        if (!hp_present(core_.get(), vcpu))
            throw std::out_of_range("no such vcpu");
        hp_bind(core_.get(), vcpu, pcpus);
    }
    hp_u64 kicks(hp_u64 now_ns) { return hp_kicks(core_.get(), now_ns); }
    hp_u32 set_policy(hp_u32 budget, hp_u32 order, hp_u32 slack, hp_u64 now_ns) {
        const hp_policy policy{budget, order, slack};

        return hp_set_policy(core_.get(), &policy, now_ns);
    }
    hp_u32 set_spare(hp_u64 period_ns, hp_u64 budget_ns, hp_u64 now_ns) {
        return hp_set_spare(core_.get(), period_ns, budget_ns, now_ns);
    }
    hp_u32 check(hp_u64 now_ns) { return hp_check(core_.get(), now_ns); }

    std::tuple<hp_u64, hp_u64, nb::object, nb::object, nb::object, hp_u32> pick(hp_u32 pcpu,
                                                                                hp_u64 now_ns) {
        if (pcpu >= hp_pcpus(core_.get()))
            throw std::out_of_range("no such pcpu");
        const hp_grant &grant = *hp_pick(core_.get(), pcpu, now_ns);
        return {grant.start_ns,  grant.until_ns,   name(grant.run),
                name(grant.pay), name(grant.also), grant.level};
    }
    Core copy() const { return Core(*core_); }
    hp_i64 remaining(hp_u32 vcpu) const { return hp_remaining_ns(core_.get(), vcpu); }
    hp_u64 deadline(hp_u32 vcpu) const { return hp_deadline_ns(core_.get(), vcpu); }

    static void bind(nb::module_ &module);

  private:
    explicit Core(const hp_core &core) : core_(std::make_unique<hp_core>(core)) {}

    static nb::object name(hp_u32 vcpu) {
        if (vcpu == HP_NONE)
            return nb::none();
        if (vcpu == HP_SPARE)
            return nb::str("spare");
        return nb::int_(vcpu);
    }

    std::unique_ptr<hp_core> core_;
};

inline void Core::bind(nb::module_ &module) {
    using nb::arg;

    nb::class_<Core>(module, "Core")
        .def(nb::init<hp_u32, hp_u32, hp_u32, hp_u32, hp_u64, hp_u64, hp_u64, hp_u64, bool>(),
             arg("budget"), arg("order"), arg("slack"), arg("pcpus"), arg("quantum_ns"),
             arg("spare_period_ns"), arg("spare_budget_ns"), arg("now_ns") = 0,
             arg("reports_saved") = false)
        .def("add", &Core::add, arg("vcpu"), arg("period_ns"), arg("budget_ns"), arg("priority"),
             arg("flags"), arg("now_ns"), arg("weight") = 0)
        .def("update", &Core::update, arg("vcpu"), arg("period_ns"), arg("budget_ns"),
             arg("priority"), arg("flags"), arg("now_ns"), arg("weight") = 0)
        .def("remove", &Core::remove, arg("vcpu"), arg("now_ns"))
        .def("arrive", &Core::arrive, arg("vcpu"), arg("now_ns"))
        .def("depart", &Core::depart, arg("vcpu"), arg("now_ns"))
        .def("pick", &Core::pick, arg("pcpu"), arg("now_ns"))
        .def("steal", &Core::steal, arg("pcpu"), arg("now_ns"))
        .def("give_back", &Core::give_back, arg("pcpu"), arg("now_ns"))
        .def("add_pcpu", &Core::add_pcpu, arg("now_ns"))
        .def("drop_pcpu", &Core::drop_pcpu, arg("pcpu"), arg("now_ns"))
        .def("saved", &Core::saved, arg("vcpu"), arg("now_ns"))
        .def("bind", &Core::bind_vcpu, arg("vcpu"), arg("pcpus"))
        .def("kicks", &Core::kicks, arg("now_ns"))
        .def("set_policy", &Core::set_policy, arg("budget"), arg("order"), arg("slack"),
             arg("now_ns"))
        .def("set_spare", &Core::set_spare, arg("period_ns"), arg("budget_ns"), arg("now_ns"))
        .def("check", &Core::check, arg("now_ns"))
        .def("copy", &Core::copy)
        .def("remaining", &Core::remaining, arg("vcpu"))
        .def("deadline", &Core::deadline, arg("vcpu"));
}

} // namespace hyperperiod::sim::bare

namespace hyperperiod::sim {

void bind_core(nanobind::module_ &module) {
    bare::Core::bind(module);
}

} // namespace hyperperiod::sim
