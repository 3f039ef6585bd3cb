import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The folder into which test/deploy/install.sh installs its tools. */
const folder = join(import.meta.dirname, '../../node_modules/.cache/deploy-tools')

export const helm = join(folder, 'helm')
/** Checks files of Compose with the library of `docker compose`, and prints what they say together. */
export const compose = join(folder, 'compose/cmd')
export const hadolint = join(folder, 'python/bin/hadolint')
export const kubernetesValidate = join(folder, 'python/bin/kubernetes-validate')

/** Why the tests of a tool cannot run here; with CI=true every tool must be there. */
export const missing = (tool: string): string | undefined =>
  existsSync(tool) || process.env['CI'] === 'true'
    ? undefined
    : `needs ${tool}: see test/deploy/install.sh and .ci/run`

/** The exit code of a program, and what it printed on both streams. */
export const outcomeOf = (
  program: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
) =>
  new Promise<{ code: number | null; stdout: string; output: string }>((resolve) => {
    const child = execFile(program, args, { ...options, maxBuffer: 2 ** 26 }, (_failure, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, output: stdout + stderr }),
    )
  })
