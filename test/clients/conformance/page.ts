/** What an operation of a client came to, compared with what the client's users see with Vault. */
type Verdict = 'same' | 'differs' | 'unsupported'

export type Row = {
  readonly operation: string
  /** `GET auth/token/lookup-self`. */
  readonly requests: readonly string[]
  readonly verdict: Verdict
  /** Empty if it is the same. */
  readonly reason: string
}

export type ClientRows = { readonly client: string; readonly version: string; readonly rows: readonly Row[] }

const verdicts: readonly Verdict[] = ['same', 'differs', 'unsupported']

/** The text of docs/conformance.md; the same for the same results. */
export function conformancePage(clients: readonly ClientRows[]): string {
  return `${introduction}
${table(
  ['Client', 'Version', ...verdicts],
  clients.map(({ client, version, rows }) => [
    client,
    version,
    ...verdicts.map((verdict) => String(rows.filter((row) => row.verdict === verdict).length)),
  ]),
)}
${clients.map(section).join('\n')}`
}

/** The clients that a page shows, with the rows of each. */
export const clientsOf = (page: string): ClientRows[] =>
  page
    .split(/^## /m)
    .slice(1)
    .map((text) => {
      const [title = '', ...lines] = text.split('\n')
      const version = title.slice(title.lastIndexOf(' ') + 1)
      const rows = lines.filter((line) => line.startsWith('| ')).slice(2)
      return { client: title.slice(0, -version.length - 1), version, rows: rows.map(rowIn) }
    })

function rowIn(line: string): Row {
  const cells = line.slice(2, -2).split(/(?<!\\) \| /)
  const [operation = '', requests = '', verdict, reason = ''] = cells.map((one) => one.replaceAll('\\|', '|'))
  const known = verdicts.find((one) => one === verdict)
  if (known === undefined) throw new Error(`no verdict in ${line}`)
  const paths = [...requests.matchAll(/`([^`]*)`/g)].map(([, path = '']) => path)
  return { operation, requests: paths, verdict: known, reason }
}

const introduction = `# Conformance

\`npm run conformance\` writes this page. It runs real clients from their registries against a new server, and
compares each operation with what the client's users see with Vault. \`npm run conformance -- NAME …\` runs only the
clients with these names; the other rows stay.

- **same**: the client's operation returns, or fails with, what it does with Vault.
- **differs**: it does not; the reason is the client's error, or "by choice" and why.
- **unsupported**: Gatehouse does not offer the feature, and says so.

A driver of each client is in \`test/clients/suites\`. The tests that hvac brings run as they are published, against
servers that they start themselves. openapi-typescript, openapi-python-client and openapi-generator make a client from
the server's own [OpenAPI document](operations.md#generated-clients); what they make is compiled, and then driven like
the others. C# and the \`vault\` command are missing: the .NET SDK, VaultSharp and the program are in none of the
registries that the other clients come from.

Terraform runs where a program \`terraform\` is installed; elsewhere its rows stay. Each configuration in
\`test/clients/suites/terraform\` is applied, changed and applied again, in part imported, and destroyed; after each step a
plan must be empty. Go's module proxy has the provider up to 1.9.0 only, which is built here with a newer Terraform SDK.
It has no resources for the cloud engine, so \`vault_generic_endpoint\` and \`vault_generic_secret\` manage that. What later
versions of the provider send for their resources is in \`test/clients/terraform.test.ts\`.
`

const section = ({ client, version, rows }: ClientRows): string =>
  `## ${client} ${version}

${table(
  ['Operation', 'Requests', 'Result', 'Reason'],
  rows.map(({ operation, requests, verdict, reason }) => [
    operation,
    requests.map((request) => `\`${request}\``).join(', '),
    verdict,
    reason,
  ]),
)}`

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(cell).join(' | ')} |\n`).join('')

const cell = (text: string): string => text.replaceAll('|', '\\|').replace(/\s+/g, ' ')

const missingFeature =
  /plugin not found in the catalog|unsupported path|no handler for route|route entry not found/i
/** What differs from run to run. */
const variable: readonly (readonly [RegExp, string])[] = [
  [/\x1b\[[0-9;]*m/g, ''],
  [/https?:\/\/(127\.0\.0\.1|localhost):\d+/g, 'URL'],
  [/\b(127\.0\.0\.1|localhost):\d+/g, 'ADDRESS'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b/g, 'ID'],
  [/\bhv[bs]\.[\w-]+/g, 'TOKEN'],
  [/\b\d{4}-\d\d-\d\dT[\d:.]+Z?\b/g, 'TIME'],
  [/\b0x[0-9a-f]+\b/g, 'ADDRESS'],
  [/\b[A-Za-z0-9_]{24,}\b/g, 'ID'],
]
const maxReason = 200

/** The verdict on an operation that ended with this error; undefined if it succeeded. */
export function verdictOf(error: string | undefined): Pick<Row, 'verdict' | 'reason'> {
  if (error === undefined) return { verdict: 'same', reason: '' }
  const reason = variable.reduce((text, [pattern, name]) => text.replace(pattern, name), error)
  return {
    verdict: missingFeature.test(error) ? 'unsupported' : 'differs',
    reason: reason.replace(/\s+/g, ' ').slice(0, maxReason).trim(),
  }
}
