import { parseArgs } from 'node:util'

/** Starts a stand-in for a person, on `--port` or a free one. Words nobody knows and a port that is taken are told in one line, with exit code 2. */
export async function startByHand<StandIn>(start: (port: number) => Promise<StandIn>): Promise<StandIn> {
  try {
    const { values } = parseArgs({ options: { port: { type: 'string', default: '0' } } })
    return await start(Number(values.port))
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(2)
  }
}
