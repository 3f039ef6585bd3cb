import { parseArgs } from 'node:util'

/**
 * Starts a stand-in from the command line, on `--port` or a free port. For an unknown argument or a port in
 * use it prints one line and exits with code 2.
 */
export async function startFromCommandLine<StandIn>(
  start: (port: number) => Promise<StandIn>,
): Promise<StandIn> {
  try {
    const { values } = parseArgs({ options: { port: { type: 'string', default: '0' } } })
    return await start(Number(values.port))
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(2)
  }
}
