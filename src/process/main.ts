const minNodeVersion = [24, 7] as const

function isOlder(version: string): boolean {
  const [major, minor] = version.split('.').map(Number)
  const [minMajor, minMinor] = minNodeVersion
  return Number(major) < minMajor || (major === minMajor && Number(minor) < minMinor)
}

/** The arguments of the server, or undefined if the program is to do something else. */
function serverArguments([name, ...rest]: readonly string[]): readonly string[] | undefined {
  if (name === undefined) return rest
  if ([name, ...rest].some(isHelp)) return undefined
  if (name === 'server') return rest
  if (name === 'dev') return ['--dev', ...rest]
  return name.startsWith('--') && name !== '--version' ? [name, ...rest] : undefined
}

const isHelp = (word: string): boolean => word === '--help' || word === '-h'

/** What explains itself instead of running: `--help`, `help`, `server --help`, `help server`. */
const isAboutAll = (words: readonly string[]): boolean =>
  words.every((word) => isHelp(word) || ['help', 'server', 'dev', '--dev'].includes(word))

/**
 * `gatehouse [server]`, `gatehouse dev`, `gatehouse COMMAND`, `gatehouse --version`, `gatehouse help`.
 * docs/operations.md#commands
 */
async function main([name = '', ...rest]: string[]): Promise<void> {
  const server = serverArguments(process.argv.slice(2))
  const stopping = new AbortController()
  // install handlers first: process 1 of a container receives only signals that it handles
  if (server !== undefined)
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopping.abort())

  if (server !== undefined) {
    const { run } = await import('./run.ts')
    await run(server, process.env, stopping)
  } else if (name === '--version') {
    const { gatehouseVersion } = await import('../version.ts')
    process.stdout.write(`Gatehouse ${gatehouseVersion} (Node ${process.versions.node})\n`)
  } else {
    const { helpText, runCommand } = await import('../commands/commands.ts')
    if (isAboutAll([name, ...rest])) process.stdout.write(helpText())
    else if (name === 'help' || isHelp(name)) await runCommand(rest[0] ?? '', ['--help'])
    else await runCommand(name, rest)
  }
}

if (isOlder(process.versions.node)) {
  process.stderr.write(
    `Node ${minNodeVersion.join('.')} or later is required, this is v${process.versions.node}\n`,
  )
  process.exitCode = 2
} else {
  await main(process.argv.slice(2))
}
