// SPDX-License-Identifier: MIT
// tq sweep: what every scheme would cost in bits and in accuracy, the table to choose from.
#include "commands.hpp"
#include "output.hpp"
#include "schemes.hpp"
#include "stored_model.hpp"
#include "values.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <utility>

namespace tool {

namespace {

using tq::errc;
using tq::io::Json;

// What a scheme does to some weights.
struct Result {
  double elements = 0, bytes = 0, signal = 0, noise = 0;

  void add(const Result& other) {
    elements += other.elements;
    bytes += other.bytes;
    signal += other.signal;
    noise += other.noise;
  }
  [[nodiscard]] double bits() const { return elements == 0 ? 0 : 8 * bytes / elements; }
  [[nodiscard]] double sqnr_db() const {
    return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
  }
};

struct Candidate {
  std::string name;
  tq::QuantSpec spec;
  Result total;
  std::vector<Result> tensors;
  bool best = false;  // nothing else is better in as few bits
};

// Best first: by accuracy, and of equals the smaller.
bool better(const Result& a, const Result& b) {
  return a.sqnr_db() != b.sqnr_db() ? a.sqnr_db() > b.sqnr_db() : a.bits() < b.bits();
}

std::vector<Candidate> candidates(const std::vector<std::string>& names) {
  static const std::vector<std::string> usual{
      "float16",    "bfloat16",  "float8_e4m3fn", "float8_e5m2", "mxfp8_e4m3", "mxfp6_e2m3",
      "mxfp6_e3m2", "mxint8",    "mxfp4",         "nvfp4",       "nf4",        "nf4_double",
      "bnb_fp4",    "iq4_nl",    "int8",          "int6",        "int4",       "int8_g32",
      "int4_g32",   "uint4_g32", "uint3_g32",     "uint2_g32",   "ternary",    "binary"};
  std::vector<Candidate> list;
  for (const std::string& name : names.empty() ? usual : names) {
    try {
      list.push_back({name, scheme_of(name), {}, {}});
    } catch (const tq::error& e) {
      throw UsageError(std::string("--types: ") + e.what());
    }
  }
  return list;
}

Result measured(const std::vector<float>& values, const StoredTensor& tensor,
                const tq::QuantSpec& asked, const SweepOptions& options) {
  const tq::Shape shape = to_shape(tensor.shape);
  const tq::QuantSpec spec = spec_for(asked, tensor.shape.size());
  const std::vector<float> back =
      decoded(encoded_weights(values, shape, spec, options.allow_nonfinite));
  Result r{static_cast<double>(values.size()), static_cast<double>(layout_of(spec, shape).bytes()),
           0, 0};
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    const double error = double{values[i]} - double{back[i]};
    r.signal += double{values[i]} * double{values[i]};
    r.noise += error * error;
  }
  return r;
}

Json to_json(const Result& r) {
  Json out{{"bits_per_weight", r.bits()}};
  put_number(out, "sqnr_db", r.sqnr_db());
  return out;
}

void print(const std::vector<Candidate>& list, const std::vector<const StoredTensor*>& tensors,
           const SweepOptions& options) {
  Table total({{"scheme"}, {"bits/weight", true}, {"SQNR dB", true}, {""}, {"which is"}});
  for (const Candidate& c : list)
    total.add({c.name, fixed(c.total.bits(), 3), fixed(c.total.sqnr_db(), 2), c.best ? "*" : "",
               to_string(c.spec)});
  if (options.per_tensor) {
    Table each({{"tensor"}, {"shape"}, {"scheme"}, {"bits/weight", true}, {"SQNR dB", true}});
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      std::vector<const Candidate*> order;
      for (const Candidate& c : list) order.push_back(&c);
      std::stable_sort(order.begin(), order.end(), [&](const Candidate* a, const Candidate* b) {
        return better(a->tensors[i], b->tensors[i]);
      });
      for (const Candidate* c : order)
        each.add({printable(tensors[i]->name), tq::io::shape_text(tensors[i]->shape), c->name,
                  fixed(c->tensors[i].bits(), 3), fixed(c->tensors[i].sqnr_db(), 2)});
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
}

}  // namespace

void sweep(const SweepOptions& options) {
  std::vector<Candidate> list = candidates(options.types);
  NameFilter filter(options.names);
  StoredModel model(options.file);
  require_unquantized(model, options.file);
  std::vector<const StoredTensor*> tensors;
  std::uint64_t work = 0;
  for (const StoredTensor& t : model.tensors())
    if (filter.left_out(t.name).empty() && no_weight(t, options.requantize).empty() &&
        (t.shape.size() >= 2 || options.all) && t.elements() != 0) {
      tensors.push_back(&t);
      work += t.bytes;
    }
  filter.require_matches();
  if (tensors.empty())
    throw tq::error(errc::no_data, options.file +
                                       ": expected float tensors of two dimensions or more, got "
                                       "none (--all also takes smaller ones)");
  {
    Progress progress("sweep", work);
    for (const StoredTensor* t : tensors)
      in_memory(*t, [&] {
        naming(t->name, [&] {
          const std::vector<float> values = float_values(model.read(*t), options.allow_nonfinite);
          for (Candidate& c : list) {
            c.tensors.push_back(measured(values, *t, c.spec, options));
            c.total.add(c.tensors.back());
          }
          progress.advance(t->bytes);
        });
      });
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Candidate& a, const Candidate& b) { return better(a.total, b.total); });
  double fewest = std::numeric_limits<double>::infinity();
  for (Candidate& c : list) {  // from the most accurate on
    c.best = c.total.bits() < fewest;
    fewest = std::min(fewest, c.total.bits());
  }
  if (!options.json) return print(list, tensors, options);
  Json schemes = Json::array();
  for (const Candidate& c : list) {
    Json entry = to_json(c.total);
    entry["name"] = c.name;
    entry["spec"] = tq::io::spec_to_json(c.spec);
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
