#include "plan.h"

#include <cmath>

namespace planner {

namespace {
constexpr double page_cost = 4.0, row_cost = 0.01, sort_cost = 0.02;
} // namespace

// Which share of a table a condition leaves. Where the histogram says "none" or "all", the column's true range decides.
double Planner::condition_share(const Index &index, std::uint64_t below) const {
    double share = index.selectivity(below);
    if (share > 0.01 && share < 0.99) {
        return share;
    }
    Range range = index.actual_range(snapshot_);
    if (range.high <= range.low) {
        return 0.5;
    }
    double part =
        (static_cast<double>(below) - static_cast<double>(range.low)) / static_cast<double>(range.high - range.low);
    return part < 0 ? 0.0 : part > 1 ? 1.0 : part;
}

double Planner::rows_of(const Query &query, std::size_t table) const {
    double rows = indexes_[table].rows();
    for (const Condition &condition : query.conditions) {
        if (condition.table == table) {
            rows *= condition_share(indexes_[table], condition.below);
        }
    }
    return rows + 1;
}

double Planner::join_cost(const Plan &outer, double inner_rows) const {
    double nested = outer.rows * (page_cost + std::log2(inner_rows + 1) * row_cost);
    double merged = (outer.rows + inner_rows) * row_cost + outer.rows * std::log2(outer.rows + 1) * sort_cost;
    double hashed = outer.rows * row_cost * 1.5 + inner_rows * row_cost * 3 + page_cost * 2;
    return outer.cost + std::fmin(nested, std::fmin(merged, hashed));
}

// The cheapest way to join the tables whose bits are set: each of them is tried as the last one.
std::shared_ptr<const Plan> Planner::best_join(const Query &query, std::uint32_t left) {
    std::shared_ptr<const Plan> best;
    for (std::size_t i = 0; i < query.tables.size(); i++) {
        if (!(left >> i & 1)) {
            continue;
        }
        std::uint32_t others = left & ~(1u << i);
        auto plan = std::make_shared<Plan>();
        plan->table = query.tables[i];
        double rows = rows_of(query, plan->table);
        considered_++;
        if (others) {
            plan->outer = best_join(query, others);
            plan->cost = join_cost(*plan->outer, rows);
            plan->rows = plan->outer->rows * rows / indexes_[plan->table].rows();
        } else {
            plan->cost = rows * row_cost + page_cost;
            plan->rows = rows;
        }
        if (!best || plan->cost < best->cost) {
            best = plan;
        }
    }
    return best;
}

std::shared_ptr<const Plan> Planner::best(const Query &query) {
    return best_join(query, (1u << query.tables.size()) - 1);
}

void Planner::explain(const Plan &plan, buffer *out, int depth) const {
    for (int i = 0; i < depth; i++) {
        buffer_text(out, "  ");
    }
    buffer_text(out, plan.outer ? "-> join " : "-> scan ");
    buffer_quoted(out, indexes_[plan.table].name().c_str());
    buffer_text(out, " cost ");
    buffer_number(out, static_cast<std::uint64_t>(plan.cost));
    buffer_text(out, "\n");
    if (plan.outer) {
        explain(*plan.outer, out, depth + 1);
    }
}

} // namespace planner
