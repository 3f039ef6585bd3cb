import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { LoadJob, LoadResult, Variant } from './load.ts'

const run = promisify(execFile)

/** Runs one job with wrk in one thread, for whole seconds; ignores `once`. */
export async function runWrk(job: LoadJob): Promise<LoadResult> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-wrk-'))
  try {
    const variantsFile = join(folder, 'variants')
    const scriptFile = join(folder, 'script.lua')
    await writeFile(variantsFile, job.variants.map(asLine).join('\n'), { mode: 0o600 })
    await writeFile(scriptFile, script(job, variantsFile))
    const seconds = Math.max(1, Math.round(job.forMs / 1000))
    const target = `http://127.0.0.1:${job.port}`
    const { stdout } = await run('wrk', [
      '-t1',
      `-c${job.connections}`,
      `-d${seconds}s`,
      '--timeout',
      '30s',
      '-s',
      scriptFile,
      target,
    ])
    return readSummary(stdout)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Tab-separated: tokens, tags and JSON bodies contain no tab and no line break. */
const asLine = ({ token, ifNoneMatch, body }: Variant) =>
  `${token ?? ''}\t${ifNoneMatch ?? ''}\t${body ?? ''}`

const script = ({ method, path }: LoadJob, variantsFile: string) => `
local requests, following = {}, 0
function init()
  for line in io.lines(${JSON.stringify(variantsFile)}) do
    local token, tag, body = line:match('^(.-)\\t(.-)\\t(.*)$')
    local headers = {}
    if token ~= '' then headers['X-Vault-Token'] = token end
    if tag ~= '' then headers['If-None-Match'] = tag end
    if body ~= '' then headers['Content-Type'] = 'application/json' else body = nil end
    requests[#requests + 1] = wrk.format(${JSON.stringify(method)}, ${JSON.stringify(path)}, headers, body)
  end
end
function request()
  following = following + 1
  return requests[(following - 1) % #requests + 1]
end
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format('\\nsummary %d %d %f %f %f %d %d\\n', summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    latency.max, errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
`

/**
 * Parses the last line of the script's output: requests, then microseconds. wrk does not report the statuses
 * of failures: they are counted under 400.
 */
export function readSummary(output: string): LoadResult {
  const line = /\nsummary (.*)\n/.exec(output)?.[1]
  if (line === undefined) throw new Error(`wrk gave no summary:\n${output}`)
  const [requests = 0, micros = 0, p50 = 0, p99 = 0, max = 0, refused = 0, broken = 0] = line
    .split(' ')
    .map(Number)
  const failures = { ...(refused > 0 && { 400: refused }), ...(broken > 0 && { 0: broken }) }
  return {
    requests,
    seconds: micros / 1e6,
    p50Ms: p50 / 1000,
    p99Ms: p99 / 1000,
    maxMs: max / 1000,
    failures,
  }
}
