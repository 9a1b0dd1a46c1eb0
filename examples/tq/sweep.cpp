// SPDX-License-Identifier: MIT
// tq sweep: what every scheme would cost in bits and in accuracy, the table to choose from.
#include "commands.hpp"
#include "measurement.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "schemes.hpp"
#include "stored_model.hpp"

#include <tq/layouts/gguf/type.hpp>

#include <algorithm>
#include <iostream>
#include <limits>
#include <optional>
#include <utility>

namespace tool {

namespace {

using tq::errc;
using tq::io::Json;

// A scheme of tq, or a type of GGUF files.
struct Candidate {
  std::string name;
  std::optional<tq::QuantSpec> spec{};
  const tq::layouts::gguf::TypeInfo* blocks = nullptr;
  SchemeResult total{};
  std::vector<SchemeResult> tensors{};
  bool best = false;  // nothing else is better in as few bits
};

// Best first: by accuracy, and of equals the smaller. What was not measured comes last.
bool better(const SchemeResult& a, const SchemeResult& b) {
  if (!a.is_measured() || !b.is_measured()) return a.is_measured() && !b.is_measured();
  return a.sqnr_db() != b.sqnr_db() ? a.sqnr_db() > b.sqnr_db() : a.bits() < b.bits();
}

Json to_json(const SchemeResult& r) {
  if (!r.is_measured())
    return {{"bits_per_weight", nullptr}, {"sqnr_db", nullptr}, {"error", r.error}};
  Json out{{"bits_per_weight", r.bits()}};
  put_number(out, "sqnr_db", r.sqnr_db());
  out["nan"] = r.nonfinite.nan;
  out["infinite"] = r.nonfinite.infinite;
  return out;
}

// For a table: a number of a measured scheme.
std::string shown(const SchemeResult& r, double number, int digits) {
  return r.is_measured() ? fixed(number, digits) : "-";
}

std::vector<Candidate> candidates_of(const SweepOptions& options) {
  std::vector<Candidate> list;
  auto [schemes, blocks] = types_of(options.types);
  for (tq::NamedScheme& scheme : schemes)
    list.push_back({.name = std::move(scheme.name), .spec = std::move(scheme.spec)});
  for (const tq::layouts::gguf::Type type : blocks) {
    const tq::layouts::gguf::TypeInfo& info = tq::layouts::gguf::info_of(type);
    list.push_back({.name = std::string(info.name), .blocks = &info});
  }
  return list;
}

SchemeResult measured(SchemeMeasurement& measure, const StoredTensor& tensor, const Candidate& c) {
  return c.spec ? measure(tensor, *c.spec) : measure(tensor, c.blocks->type);
}

std::string description_of(const Candidate& c) {
  if (c.spec) return to_string(*c.spec);
  return "GGUF, " + std::to_string(c.blocks->elements) + " weights in blocks of " +
         std::to_string(c.blocks->bytes) + " bytes";
}

void print(const std::vector<Candidate>& list, const std::vector<const StoredTensor*>& tensors,
           const SweepOptions& options) {
  Table total({{"scheme"}, {"bits/weight", true}, {"SQNR dB", true}, {""}, {"which is"}});
  for (const Candidate& c : list)
    total.add({c.name, shown(c.total, c.total.bits(), 3), shown(c.total, c.total.sqnr_db(), 2),
               c.best ? "*" : "",
               c.total.is_measured() ? description_of(c) : printable(c.total.error)});
  if (options.per_tensor) {
    Table each({{"tensor"}, {"shape"}, {"scheme"}, {"bits/weight", true}, {"SQNR dB", true}});
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      std::vector<const Candidate*> order;
      for (const Candidate& c : list) order.push_back(&c);
      std::stable_sort(order.begin(), order.end(), [&](const Candidate* a, const Candidate* b) {
        return better(a->tensors[i], b->tensors[i]);
      });
      for (const Candidate* c : order) {
        const SchemeResult& r = c->tensors[i];
        each.add({printable(tensors[i]->name), tq::io::shape_text(tensors[i]->shape), c->name,
                  shown(r, r.bits(), 3), r.is_measured() ? fixed(r.sqnr_db(), 2) : "cannot"});
      }
    }
    each.print();
    std::cout << "\nAll tensors together:\n\n";
  }
  total.print();
  std::cout << '\n'
            << tensors.size() << " tensors, "
            << grouped(static_cast<std::uint64_t>(list.empty() ? 0.0 : list[0].total.elements))
            << " weights. bits/weight counts codes, scales and zero points.\n"
               "* no other scheme here is more accurate in as few bits.\n";
  const NonFiniteCounts nonfinite = list.empty() ? NonFiniteCounts{} : list[0].total.nonfinite;
  if (nonfinite.all() != 0)
    std::cout << grouped(nonfinite.nan) << " NaN and " << grouped(nonfinite.infinite)
              << " infinite values: SQNR is that of the finite ones.\n";
}

}  // namespace

void sweep(const SweepOptions& options) {
  show_progress(!options.json && !options.talk.quiet, options.talk.progress);
  std::vector<Candidate> list = candidates_of(options);
  NameFilter filter(options.names);
  StoredModel model(options.file);
  require_unquantized(model.contents(), options.file);
  std::vector<const StoredTensor*> tensors;
  std::uint64_t work = 0;
  for (const StoredTensor& t : model.tensors())
    if (why_left_out(t, filter, options).empty()) {
      tensors.push_back(&t);
      work += t.bytes;
    }
  filter.require_matches();
  if (tensors.empty())
    throw tq::error(errc::no_data,
                    options.file +
                        ": expected float tensors with elements, of two dimensions or more, got "
                        "none (--all also takes smaller ones, and kinds that stay in float)");
  {
    Progress progress("sweep", work);
    SchemeMeasurement measure(model, options.allow_nonfinite);
    for (const StoredTensor* t : tensors)
      in_memory(*t, [&] {
        naming(t->name, [&] {
          for (Candidate& c : list) {
            SchemeResult result = measured(measure, *t, c);
            c.total.add(result);
            if (options.per_tensor) c.tensors.push_back(std::move(result));
          }
          progress.advance(t->bytes);
        });
      });
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Candidate& a, const Candidate& b) { return better(a.total, b.total); });
  double fewest = std::numeric_limits<double>::infinity();
  for (Candidate& c : list) {  // from the most accurate on
    c.best = c.total.is_measured() && c.total.bits() < fewest;
    if (c.best) fewest = c.total.bits();
  }
  if (!options.json && options.talk.quiet) return;
  if (!options.json) return print(list, tensors, options);
  Json schemes = Json::array();
  for (const Candidate& c : list) {
    Json entry = to_json(c.total);
    entry["name"] = c.name;
    if (c.spec) entry["spec"] = tq::io::spec_to_json(*c.spec);
    else entry["gguf_type"] = c.blocks->name;
    entry["best"] = c.best;
    if (options.per_tensor)
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        Json row = to_json(c.tensors[i]);
        row["name"] = tensors[i]->name;
        entry["tensors"].push_back(std::move(row));
      }
    schemes.push_back(std::move(entry));
  }
  print_json({{"file", options.file},
              {"schemes", std::move(schemes)},
              {"total",
               {{"tensors", tensors.size()},
                {"weights", static_cast<std::uint64_t>(list[0].total.elements)}}}});
}

}  // namespace tool
