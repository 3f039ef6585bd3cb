import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { az } from './az.ts'
import { curl } from './curl.ts'
import { jq } from './jq.ts'
import { type Followed, openStandIns } from './stand-ins.ts'
import { vault } from './vault.ts'

const project = join(import.meta.dirname, '../..')

export type Reading = {
  /** Texts of the page, and what a reader replaces them with. All of them must occur on the page. */
  readonly filledIn: Readonly<Record<string, string>>
  /** Variables that the reader's shell has already. */
  readonly environment?: Readonly<Record<string, string>>
}

export type Outcome = Followed & {
  /** The blocks that start programs instead of sending requests. */
  readonly programs: readonly string[]
}

/** A shell in a folder of its own, with stand-ins for the programs that our pages use. */
type Shell = AsyncDisposable & {
  file(name: string): string
  /** Variables of the shell. */
  readonly variables: Record<string, string>
  /** Rejects if a command fails. */
  run(script: string): Promise<Followed>
}

export async function openShell(environment: Readonly<Record<string, string>> = {}): Promise<Shell> {
  await using opened = new AsyncDisposableStack()
  const folder = opened.use(await temporaryFolder())
  const programs = opened.use(await openStandIns({ curl, jq, az, vault, bao: vault }))
  const variables = { ...environment }
  const held = opened.move()
  return {
    file: folder.file,
    variables,
    run: (script) => programs.run(script, { cwd: folder.path, env: variables }),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

/**
 * Runs the shell blocks of a page in one shell, as someone who copies them in sequence would. Rejects if a
 * command fails.
 */
export async function readPage(page: string, { filledIn, environment = {} }: Reading): Promise<Outcome> {
  await using shell = await openShell(environment)
  const blocks = shellBlocks(await readFile(join(project, page), 'utf8'))
  const script = fillIn(blocks.filter((block) => !startsProgram(block)).join('\n'), filledIn)
  return { ...(await shell.run(script)), programs: blocks.filter(startsProgram) }
}

/** A page whose sections are followed one by one. */
type Guide = {
  /** The shell blocks of a section, filled in. Throws if it has none. */
  blocks(section: string): readonly string[]
  /** The whole text. */
  readonly text: string
  /** The sections whose shell blocks were not asked for. */
  unread(): string[]
}

export function openGuide(page: string, filledIn: Reading['filledIn']): Guide {
  const text = readFileSync(join(project, page), 'utf8')
  const sections = new Map(
    text.split(/^(?=#{2,} )/m).flatMap((section) => {
      const blocks = shellBlocks(section)
      return blocks.length === 0 ? [] : [[/^#+ (.*)$/m.exec(section)?.[1] ?? '', blocks] as const]
    }),
  )
  for (const blank of Object.keys(filledIn))
    if (!text.includes(blank)) throw new Error(`nowhere on the page: ${blank}`)
  const unread = new Set(sections.keys())
  return {
    text,
    blocks: (section) => {
      const blocks = sections.get(section)
      if (blocks === undefined) throw new Error(`${page} has no commands in "${section}"`)
      unread.delete(section)
      return blocks.map((block) => replaced(block, filledIn))
    },
    unread: () => [...unread],
  }
}

const shellBlocks = (markdown: string): string[] =>
  [...markdown.matchAll(/^( *)```sh\n(.*?)^\1```$/gms)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )

const startsProgram = (block: string): boolean => /^npm /m.test(block)

function fillIn(script: string, filledIn: Reading['filledIn']): string {
  for (const blank of Object.keys(filledIn))
    if (!script.includes(blank)) throw new Error(`nowhere on the page: ${blank}`)
  return replaced(script, filledIn)
}

function replaced(script: string, filledIn: Reading['filledIn']): string {
  const filled = Object.entries(filledIn).reduce(
    (text, [blank, value]) => text.replaceAll(blank, value),
    script,
  )
  if (filled.includes('…')) throw new Error(`left to fill in: ${/.*….*/.exec(filled)?.[0]}`)
  return filled
}
