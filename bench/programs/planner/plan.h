// Plans: the cheapest order of joins, found by trying orders recursively.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "buffer.h"
#include "index.h"
#include "query.h"

namespace planner {

struct Plan {
    double cost = 0, rows = 0;
    std::size_t table = 0;
    std::shared_ptr<const Plan> outer;
};

class Planner {
  public:
    Planner(const std::vector<Index> &indexes, Snapshot snapshot) : indexes_(indexes), snapshot_(snapshot) {}

    std::shared_ptr<const Plan> best(const Query &query);
    void explain(const Plan &plan, buffer *out, int depth) const;
    std::uint64_t considered() const { return considered_; }

  private:
    std::shared_ptr<const Plan> best_join(const Query &query, std::uint32_t left);
    double rows_of(const Query &query, std::size_t table) const;
    double condition_share(const Index &index, std::uint64_t below) const;
    double join_cost(const Plan &outer, double inner_rows) const;

    const std::vector<Index> &indexes_;
    Snapshot snapshot_;
    std::uint64_t considered_ = 0;
};

} // namespace planner
