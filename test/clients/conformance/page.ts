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

/** What the page says of a client: how many operations came to each verdict, and what differs. */
export type ClientSummary = {
  readonly client: string
  readonly version: string
  readonly counts: Readonly<Record<Verdict, number>>
  readonly differences: readonly Pick<Row, 'operation' | 'reason'>[]
}

const verdicts: readonly Verdict[] = ['same', 'differs', 'unsupported']

export function summaryOf({ client, version, rows }: ClientRows): ClientSummary {
  const rowsWith = (verdict: Verdict) => rows.filter((row) => row.verdict === verdict)
  const counts = {
    same: rowsWith('same').length,
    differs: rowsWith('differs').length,
    unsupported: rowsWith('unsupported').length,
  }
  return { client, version, counts, differences: rowsWith('differs') }
}

/** The text of docs/conformance.md; the same for the same results. */
export const conformancePage = (clients: readonly ClientSummary[]): string =>
  `${introduction}
${table(
  ['Client', 'Version', ...verdicts],
  clients.map(({ client, version, counts }) => [
    client,
    version,
    ...verdicts.map((one) => String(counts[one])),
  ]),
)}
## Differences

${table(
  ['Client', 'Operation', 'Reason'],
  clients.flatMap(({ client, differences }) =>
    differences.map(({ operation, reason }) => [client, operation, reason]),
  ),
)}`

/** The clients that a page shows. */
export function clientsOf(page: string): ClientSummary[] {
  const [summary = [], differences = []] = page.split('## Differences').map(cellsOf)
  return summary.map(([client = '', version = '', same, differs, unsupported]) => ({
    client,
    version,
    counts: { same: Number(same), differs: Number(differs), unsupported: Number(unsupported) },
    differences: differences
      .filter(([name]) => name === client)
      .map(([, operation = '', reason = '']) => ({ operation, reason })),
  }))
}

/** The rows of the table in a text, without its head. */
const cellsOf = (text: string): string[][] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(2)
    .map((line) => line.slice(2, -2).split(/(?<!\\) \| /))
    .map((cells) => cells.map((one) => one.replaceAll('\\|', '|')))

/** Every operation of every client with its requests: what a run leaves beside the page. */
export const rowsPage = (clients: readonly ClientRows[]): string => clients.map(section).join('\n')

const introduction = `# Conformance

\`npm run conformance\` writes this page. It runs real clients from their registries against a new server, and
compares each operation with what the client's users see with Vault. \`npm run conformance -- NAME …\` runs only the
clients with these names; the rest of the page stays. A run leaves each operation with its requests and its result in
\`out/conformance.md\`.

- **same**: the client's operation returns, or fails with, what it does with Vault.
- **differs**: it does not; the reason is the client's error, or "by choice" and why.
- **unsupported**: Gatehouse does not offer the feature, and says so: for hvac's own tests these are the login methods and
  secrets engines that Gatehouse does not have, Sentinel policies and Raft; for the others, the transit engine.

A driver of each client is in \`test/clients/suites\`. The tests that hvac brings run as they are published, against
servers that they start themselves. openapi-typescript, openapi-python-client and openapi-generator make a client from
the server's own [OpenAPI document](operations.md#generated-clients); what they make is compiled, and then driven like
the others. C# and the \`vault\` command are missing: the .NET SDK, VaultSharp and the program are in none of the
registries that the other clients come from.

Terraform runs where a program \`terraform\` is installed; elsewhere its row stays. Each configuration in
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
