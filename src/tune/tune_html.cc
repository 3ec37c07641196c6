#include "tune/tune_report.h"
namespace foretoken {
std::string html_escaped(std::string_view text) { return std::string(text); }
std::string report_html(const TuneReport&) { return {}; }
}  // namespace foretoken
