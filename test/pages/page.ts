import { execFile } from 'node:child_process'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from '../support/temporary-folder.ts'

const project = join(import.meta.dirname, '../..')
const run = promisify(execFile)

export type Reading = {
  /** Texts of the page, and what a reader replaces them with. All of them must occur on the page. */
  readonly filledIn: Readonly<Record<string, string>>
  /** Variables that the reader's shell has already. */
  readonly environment?: Readonly<Record<string, string>>
}

export type Outcome = {
  /** Status, method, path and query of every request, in order. */
  readonly requests: readonly string[]
  /** The output of the shell. */
  readonly output: string
  /** The blocks that start programs instead of sending requests. */
  readonly programs: readonly string[]
}

/**
 * Runs the shell blocks of a page in one shell, as someone who copies them in sequence would. Rejects if a
 * command fails.
 */
export async function readPage(page: string, { filledIn, environment = {} }: Reading): Promise<Outcome> {
  await using folder = await temporaryFolder()
  const curl = folder.file('curl')
  const journal = folder.file('journal')
  await writeFile(
    curl,
    `#!/bin/sh\nexec '${process.execPath}' '${join(import.meta.dirname, 'curl.ts')}' "$@"\n`,
  )
  await chmod(curl, 0o700)
  for (const program of ['jq', 'az'])
    await writeFile(
      folder.file(program),
      `#!/bin/sh\nexec '${process.execPath}' '${join(import.meta.dirname, `${program}.ts`)}' "$@"\n`,
      { mode: 0o700 },
    )
  await writeFile(journal, '')

  const blocks = shellBlocks(await readFile(join(project, page), 'utf8'))
  const script = fillIn(blocks.filter((block) => !startsProgram(block)).join('\n'), filledIn)
  const { stdout: output } = await run('/bin/sh', ['-euc', script], {
    cwd: folder.path,
    env: { ...environment, PATH: `${folder.path}:${process.env['PATH']}`, CURL_JOURNAL: journal },
    timeout: 60_000,
  })
  const requests = (await readFile(journal, 'utf8')).trimEnd().split('\n')
  return { requests, output, programs: blocks.filter(startsProgram) }
}

const shellBlocks = (markdown: string): string[] =>
  [...markdown.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block)

const startsProgram = (block: string): boolean => /^npm /m.test(block)

function fillIn(script: string, filledIn: Reading['filledIn']): string {
  let filled = script
  for (const [blank, value] of Object.entries(filledIn)) {
    if (!filled.includes(blank)) throw new Error(`nowhere on the page: ${blank}`)
    filled = filled.replaceAll(blank, value)
  }
  if (filled.includes('…')) throw new Error(`left to fill in: ${/.*….*/.exec(filled)?.[0]}`)
  return filled
}
