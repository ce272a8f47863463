#include "query.h"

#include <cctype>
#include <cstdlib>

#include "roll.h"

namespace planner {

std::string compose_query(std::uint32_t serial, std::size_t tables, std::size_t joined) {
    std::uint32_t state = serial * 2654435761u + 11;
    std::string text = "select *, /* report " + std::to_string(serial) + " */ count ( 1 ) from ", where;
    for (std::size_t i = 0; i < joined; i++) {
        std::string name = "t" + std::to_string((serial + i) % tables);
        text += (i ? " , " : "") + name;
        where += (i ? " and " : " where ") + name + " . key < " + std::to_string(roll_below(&state, 300000));
    }
    return text + where + " order by 1 , 2 ;";
}

static std::vector<std::string> tokens(const std::string &text) {
    std::vector<std::string> found;
    for (std::size_t at = 0; at < text.size();) {
        if (text.compare(at, 2, "/*") == 0) {
            at = text.find("*/", at) + 2;
        } else if (std::isspace(static_cast<unsigned char>(text[at]))) {
            at++;
        } else if (std::isalnum(static_cast<unsigned char>(text[at]))) {
            std::size_t start = at;
            while (at < text.size() && std::isalnum(static_cast<unsigned char>(text[at]))) {
                at++;
            }
            found.push_back(text.substr(start, at - start));
        } else {
            found.emplace_back(1, text[at++]);
        }
    }
    return found;
}

static std::size_t table_number(const std::string &word) {
    return static_cast<std::size_t>(std::atol(word.c_str() + 1));
}

Query parse_query(const std::string &text) {
    Query query;
    std::vector<std::string> words = tokens(text);
    for (std::size_t i = 0; i + 1 < words.size(); i++) {
        bool listed = words[i] == "from" || (words[i] == "," && !query.tables.empty() && words[i + 1][0] == 't');
        if (listed) {
            query.tables.push_back(table_number(words[i + 1]));
        } else if (words[i] == "<" && i >= 3) {
            query.conditions.push_back({table_number(words[i - 3]), std::strtoull(words[i + 1].c_str(), nullptr, 10)});
        }
    }
    return query;
}

} // namespace planner
