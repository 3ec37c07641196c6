#pragma once
// The metrics that are not fed by requests: what the engine counted, read from one snapshot, and
// what is fixed since the start. A page made of a snapshot agrees with itself, and two pages at
// once cannot count anything twice. Pure functions.

#include <map>
#include <string>
#include <vector>

#include <prometheus/metric_family.h>

#include "base/cpu_time.h"
#include "engine/engine_port.h"
#include "server/context/server_config.h"

namespace foretoken {

using MetricLabels = std::map<std::string, std::string>;

// `cpu`: of the engine's threads, and of all others.
std::vector<prometheus::MetricFamily> engine_families(const ServerConfig& config,
                                                      const EngineStats& stats,
                                                      const CpuSeconds& cpu,
                                                      const MetricLabels& labels);

}  // namespace foretoken
