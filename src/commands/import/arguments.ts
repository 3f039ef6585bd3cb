import { readFile } from 'node:fs/promises'
import { systemCode } from '../../lib/system/private-file.ts'
import { parsedArguments, UsageError } from '../command.ts'
import { isSection, type Section, sections } from './import-server.ts'
import { RemoteServer } from './remote-server.ts'
import { readSecretIds } from './secret-ids.ts'

const text = { type: 'string' } as const
const flag = { type: 'boolean', default: false } as const
const usualEverySeconds = 60

export async function readImportArguments(args: string[]) {
  const servers = { from: text, to: text, 'from-token-file': text, 'to-token-file': text }
  const flags = { 'dry-run': flag, update: flag, plan: flag, json: flag, passwords: flag, watch: flag }
  const rest = { only: text, except: text, report: text, every: text, 'secret-ids': text }
  const { values } = parsedArguments({ args, options: { ...servers, ...flags, ...rest } })
  const { plan: isPlan, watch: isWatch, 'dry-run': isDryRun } = values
  if (isWatch && isDryRun) throw new UsageError('--watch writes: it goes without --dry-run')
  if (values.json && !isPlan) throw new UsageError('--json is for --plan: other reports are JSON')
  if (values.every !== undefined && !isWatch) throw new UsageError('--every is for --watch')
  const shared = {
    from: await serverOf('--from', values.from, values['from-token-file']),
    except: pathsOf(values.except),
  }
  if (isPlan) return { ...shared, isPlan, isJson: values.json } as const
  const secretIds = values['secret-ids']
  return {
    ...shared,
    isPlan,
    to: await serverOf('--to', values.to, values['to-token-file']),
    only: sectionsOf(values.only),
    isDryRun,
    isUpdate: values.update || isWatch,
    isWatch,
    everySeconds: secondsOf(values.every),
    hasPasswords: values.passwords,
    secretIds: secretIds === undefined ? undefined : readSecretIds(secretIds),
    reportFile: values.report,
  } as const
}

export function sectionsOf(given: string | undefined): ReadonlySet<Section> {
  const only = given?.split(',').map((name) => name.trim()) ?? sections
  const unknown = only.filter((name) => !isSection(name))
  if (unknown.length > 0) throw new UsageError(`--only: ${unknown.join()} is not one of ${sections.join()}`)
  return new Set(only.filter(isSection))
}

/** Mount paths, which end in `/`. */
export const pathsOf = (given = ''): ReadonlySet<string> =>
  new Set(
    given
      .split(',')
      .map((path) => path.trim())
      .filter((path) => path !== '')
      .map((path) => (path.endsWith('/') ? path : `${path}/`)),
  )

function secondsOf(given: string | undefined): number {
  if (given === undefined) return usualEverySeconds
  if (!/^[1-9]\d{0,5}$/.test(given)) throw new UsageError('--every is a number of seconds')
  return Number(given)
}

/** `name` is that of the argument, without the token's `-token-file`. */
export async function serverOf(name: string, address: string | undefined, file: string | undefined) {
  if (address === undefined || file === undefined) throw new UsageError()
  const url = URL.canParse(address) ? new URL(address) : undefined
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:'
  if (url === undefined || !isHttp || url.username !== '' || url.password !== '')
    throw new UsageError(`${name}: not an http or https address`)
  const token = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new UsageError(`${name}-token-file: cannot read ${file}: ${systemCode(cause)}`, { cause })
  })
  if (!/^[\x21-\x7e]+$/.test(token.trim()))
    throw new UsageError(`${name}-token-file: ${file} does not hold one token`)
  return new RemoteServer(`${name} ${url.origin}`, url, token.trim())
}
