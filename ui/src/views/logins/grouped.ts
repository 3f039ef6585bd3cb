import type { LoginFailure } from '../../api/logins.ts'

/** Refusals with the same cause, for the same subject and from the same address. */
export type Repeated = {
  /** The newest of them. */
  readonly newest: LoginFailure
  readonly count: number
  readonly since: string
}

/** Newest first, as the failures are. */
export function grouped(failures: readonly LoginFailure[]): Repeated[] {
  const sameCause = ({ role, subject, reason, check, detail, hint, cause, remote_address }: LoginFailure) =>
    JSON.stringify([role, subject, reason, check, detail, hint, cause, remote_address])
  return [...Map.groupBy(failures, sameCause).values()].flatMap((same) => {
    const [newest, oldest] = [same[0], same.at(-1)]
    return newest === undefined || oldest === undefined
      ? []
      : [{ newest, count: same.length, since: oldest.time }]
  })
}

/** Claims that name the source of a job, at the platforms of docs/providers. */
const sourceClaims = [
  'repository',
  'project_path',
  '/kubernetes.io/namespace',
  'pipeline_slug',
  'terraform_full_workspace',
  'oidc.circleci.com/project-id',
]

/** The repository or project of a refused login, if its role looks at such a claim. */
export function sourceOf({ looked_at: looked }: LoginFailure): string {
  const name = sourceClaims.find((claim) => looked[claim] !== undefined)
  return name === undefined ? '' : (looked[name] ?? '')
}

const columns = [
  'time',
  'request_id',
  'role',
  'subject',
  'reason',
  'check',
  'cause',
  'status',
  'remote_address',
] as const

/** A text that a spreadsheet would take for a formula is set apart by an apostrophe. */
const csvCell = (value: string): string => `"${value.replace(/^[=+\-@\t\r]/, "'$&").replaceAll('"', '""')}"`

/** RFC 4180, with a heading. */
export const csvOf = (failures: readonly LoginFailure[]): string =>
  [
    [...columns, 'looked_at'],
    ...failures.map((one) => [...columns.map((name) => String(one[name])), JSON.stringify(one.looked_at)]),
  ]
    .map((cells) => `${cells.map(csvCell).join(',')}\r\n`)
    .join('')
