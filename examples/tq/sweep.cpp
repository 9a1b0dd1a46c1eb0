// SPDX-License-Identifier: MIT
// tq sweep: what every scheme would cost in bits and in accuracy, the table to choose from.
#include "commands.hpp"
#include "finite_part.hpp"
#include "output.hpp"
#include "schemes.hpp"
#include "stored_model.hpp"
#include "values.hpp"

#include <tq/ops/compare.hpp>

#include <algorithm>
#include <iostream>
#include <limits>
#include <span>
#include <utility>

namespace tool {

namespace {

using tq::errc;
using tq::io::Json;

// What a scheme does to some weights, or why it cannot.
struct Result {
  double elements = 0, bytes = 0;
  tq::Comparison<> lost{};
  std::string error{};
  NonFiniteCounts nonfinite{};  // which were not compared

  [[nodiscard]] bool is_measured() const { return error.empty(); }
  void add(const Result& other) {
    if (error.empty()) error = other.error;
    nonfinite.add(other.nonfinite);
    elements += other.elements;
    bytes += other.bytes;
    lost.merge(other.lost);
  }
  [[nodiscard]] double bits() const { return elements == 0 ? 0 : 8 * bytes / elements; }
  [[nodiscard]] double sqnr_db() const { return lost.metrics().sqnr_db; }
};

struct Candidate {
  std::string name;
  tq::QuantSpec spec;
  Result total;
  std::vector<Result> tensors;
  bool best = false;  // nothing else is better in as few bits
};

// Best first: by accuracy, and of equals the smaller. What was not measured comes last.
bool better(const Result& a, const Result& b) {
  if (!a.is_measured() || !b.is_measured()) return a.is_measured() && !b.is_measured();
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

// What schemes do to tensors, piece by piece, in memory that is kept from one to the next.
class Measurement {
 public:
  Measurement(StoredModel& model, const SweepOptions& options)
      : allow_nonfinite_(options.allow_nonfinite),
        floats_(model, options.allow_nonfinite),
        finite_(options.allow_nonfinite) {}

  Result operator()(const StoredTensor& tensor, const tq::QuantSpec& asked) {
    const tq::QuantSpec spec = spec_for(asked, tensor.shape.size());
    Result result{static_cast<double>(tensor.elements())};
    if (!can(result, tensor, [&] { coder_.start(spec, to_shape(tensor.shape)); })) return result;
    floats_.for_each(tensor, [&](std::size_t first, std::span<const float> values) {
      coder_.observe(first, values);
    });
    if (!can(result, tensor, [&] { fit_weights(coder_, allow_nonfinite_); })) return result;
    result.bytes = static_cast<double>(coder_.layout().bytes());
    floats_.for_each(tensor, [&](std::size_t first, std::span<const float> values) {
      codes_.resize(coder_.code_bytes(values.size()));
      back_.resize(values.size());
      coder_.encode(first, values, codes_);
      coder_.decode(first, codes_, back_);
      tq::io::round_to(back_, tensor.dtype);
      finite_.take(values, back_);
      result.lost.add(finite_.values(), finite_.back());
      result.nonfinite.add(finite_.left_out());
    });
    return result;
  }

 private:
  // A scheme that cannot do the tensor says so; values that are not finite are no scheme's fault.
  template <class F>
  static bool can(Result& result, const StoredTensor& tensor, F&& f) {
    try {
      f();
    } catch (const tq::error& e) {
      if (e.code() == errc::not_finite) throw;
      result.error = "tensor " + tq::io::detail::shown(tensor.name) + ": " + e.what();
    }
    return result.is_measured();
  }

  bool allow_nonfinite_;
  FloatReader floats_;
  PieceCoder coder_;
  std::vector<std::byte> codes_;
  std::vector<float> back_;
  FinitePart finite_;
};

Json to_json(const Result& r) {
  if (!r.is_measured()) return {{"bits_per_weight", nullptr}, {"sqnr_db", nullptr}, {"error", r.error}};
  Json out{{"bits_per_weight", r.bits()}};
  put_number(out, "sqnr_db", r.sqnr_db());
  out["nan"] = r.nonfinite.nan;
  out["infinite"] = r.nonfinite.infinite;
  return out;
}

// For a table: a number of a measured scheme.
std::string shown(const Result& r, double number, int digits) {
  return r.is_measured() ? fixed(number, digits) : "-";
}

void print(const std::vector<Candidate>& list, const std::vector<const StoredTensor*>& tensors,
           const SweepOptions& options) {
  Table total({{"scheme"}, {"bits/weight", true}, {"SQNR dB", true}, {""}, {"which is"}});
  for (const Candidate& c : list)
    total.add({c.name, shown(c.total, c.total.bits(), 3), shown(c.total, c.total.sqnr_db(), 2),
               c.best ? "*" : "", c.total.is_measured() ? to_string(c.spec) : printable(c.total.error)});
  if (options.per_tensor) {
    Table each({{"tensor"}, {"shape"}, {"scheme"}, {"bits/weight", true}, {"SQNR dB", true}});
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      std::vector<const Candidate*> order;
      for (const Candidate& c : list) order.push_back(&c);
      std::stable_sort(order.begin(), order.end(), [&](const Candidate* a, const Candidate* b) {
        return better(a->tensors[i], b->tensors[i]);
      });
      for (const Candidate* c : order) {
        const Result& r = c->tensors[i];
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
    Measurement measure(model, options);
    for (const StoredTensor* t : tensors)
      in_memory(*t, [&] {
        naming(t->name, [&] {
          for (Candidate& c : list) {
            Result result = measure(*t, c.spec);
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
