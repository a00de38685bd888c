/* graph.cpp: capture of streams, and graphs: nodes that run in any order that their edges allow.
 *
 * One capture at a time. Each captured stream has tails, the nodes that its next one comes after;
 * an event carries the tails of the stream that recorded it, and who waits for it adds them to its
 * own, which is also how another stream joins the capture.
 */
#include "shim.h"

#include <algorithm>
#include <map>

struct Node {
    Op op;
    std::vector<size_t> after; /* indices of earlier nodes */
};

struct CUgraph_st {
    std::vector<Node> nodes;
};
struct CUgraphExec_st {
    std::shared_ptr<const CUgraph_st> graph;
};

typedef std::vector<size_t> Tails;

static struct {
    std::unique_ptr<CUgraph_st> graph; /* NULL: no capture */
    CUstream_st *origin;
    std::map<CUstream_st *, Tails> streams;
    std::map<CUevent_st *, Tails> events;
} capture;

bool capturing(void) {
    return capture.graph != nullptr;
}

bool capture_add(CUstream_st *stream, const Op &op) {
    const auto found = capture.streams.find(stream);
    if (found == capture.streams.end())
        return false;
    std::vector<Node> &nodes = capture.graph->nodes;
    nodes.push_back({op, found->second});
    found->second = {nodes.size() - 1};
    return true;
}

bool capture_record(CUstream_st *stream, CUevent_st *event) {
    const auto found = capture.streams.find(stream);
    if (found == capture.streams.end())
        return false;
    capture.events[event] = found->second;
    return true;
}

bool capture_wait(CUstream_st *stream, CUevent_st *event) {
    const auto found = capture.events.find(event);
    if (found == capture.events.end()) {
        if (capture.streams.count(stream))
            fail("a captured stream waits for an event that was recorded outside the capture");
        return false;
    }
    Tails &tails = capture.streams[stream];
    tails.insert(tails.end(), found->second.begin(), found->second.end());
    return true;
}

/* Does everything in the graph come before one of the tails? */
static bool joined(const CUgraph_st &graph, const Tails &tails) {
    std::vector<bool> before(graph.nodes.size());
    for (size_t i : tails)
        before[i] = true;
    for (size_t i = before.size(); i-- > 0;)
        for (size_t j : graph.nodes[i].after)
            if (before[i])
                before[j] = true;
    return std::find(before.begin(), before.end(), false) == before.end();
}

/* ---- running --------------------------------------------------------------------------------- */

static size_t choose(const std::vector<size_t> &ready) {
    switch (settings().timing) {
    case Timing::eager:
        return 0;
    case Timing::late:
        return ready.size() - 1;
    case Timing::random:
        break;
    }
    return random_below(static_cast<uint32_t>(ready.size()));
}

/* Device memory is open around a graph; it must not be for the host's functions in it. */
static void run_node(const Op &op) {
    counts.graph_kernels += op.kind == Op::kernel;
    counts.graph_copies += op.kind == Op::copy;
    if (op.kind != Op::host) {
        run_op(op);
        return;
    }
    arena_close();
    run_op(op);
    arena_open();
}

static void run_graph(const CUgraph_st &graph) {
    const size_t n = graph.nodes.size();
    std::vector<size_t> open(n), ready; /* edges that still hold a node back; nodes with none */
    std::vector<std::vector<size_t>> next(n);
    for (size_t i = 0; i < n; i++) {
        open[i] = graph.nodes[i].after.size();
        for (size_t j : graph.nodes[i].after)
            next[j].push_back(i);
        if (open[i] == 0)
            ready.push_back(i);
    }
    while (!ready.empty()) {
        const size_t at = choose(ready), i = ready[at];
        ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(at));
        run_node(graph.nodes[i].op);
        for (size_t j : next[i])
            if (--open[j] == 0)
                ready.push_back(j);
    }
}

/* ---- the API --------------------------------------------------------------------------------- */

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    const Guard guard(api_lock);
    if (const cudaError_t problem = device_problem())
        return failed_with(problem);
    if (capturing() || !stream)
        return refuse(cudaErrorStreamCaptureUnsupported,
                      "cudaStreamBeginCapture: one capture at a time, of a named stream");
    capture.graph = std::make_unique<CUgraph_st>();
    capture.origin = stream;
    capture.streams[stream] = {};
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    const Guard guard(api_lock);
    *graph = nullptr;
    if (!capturing() || stream != capture.origin)
        return refuse(cudaErrorIllegalState,
                      "cudaStreamEndCapture of a stream that is not captured");
    const bool whole = joined(*capture.graph, capture.streams[stream]);
    capture.streams.clear();
    capture.events.clear();
    const std::unique_ptr<CUgraph_st> made = std::move(capture.graph);
    if (!whole)
        return refuse(cudaErrorStreamCaptureUnjoined,
                      "cudaStreamEndCapture: a stream has joined the capture, and the stream it "
                      "began with does not wait for its end");
    *graph = new CUgraph_st(*made);
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status) {
    const Guard guard(api_lock);
    *status =
        capture.streams.count(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

/* Only how many there are. */
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n) {
    if (nodes)
        return refuse(cudaErrorNotSupported, "cudaGraphGetNodes: nodes themselves");
    *n = graph->nodes.size();
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long) {
    *exec = new CUgraphExec_st{std::make_shared<CUgraph_st>(*graph)};
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    delete exec;
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    const Guard guard(api_lock);
    Op op;
    op.kind = Op::graph;
    const std::shared_ptr<const CUgraph_st> graph = exec->graph;
    op.run = [graph] { run_graph(*graph); };
    return enqueue("cudaGraphLaunch", stream, op);
}

} /* extern "C" */
