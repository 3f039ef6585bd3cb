import { excerpt } from '../../../lib/text/go-text.ts'
import { policiesMissing } from '../../../logins/explain/policies-missing.ts'
import type { CelRole } from '../cel/cel-role.ts'
import { isUnknownCall } from '../cel/language/check.ts'
import {
  type Expression,
  type MessageField,
  type MessageLiteral,
  partsOf,
  qualifiedName,
} from '../cel/language/expression.ts'
import { nanosOfSecond } from '../cel/language/values.ts'
import { checkedProgram, type ParsedProgram, ProgramError } from '../cel/program.ts'
import { claimsOfOneRun, type Finding, type LintContext, withoutAudience } from './lint.ts'

type Found = Pick<Finding, 'code' | 'field' | 'text'>

/** The findings about a CEL role. Names of CEL roles begin with `cel/`. docs/explain.md#what-the-linter-says */
export async function lintCelRole(role: CelRole, context: LintContext): Promise<Finding[]> {
  const program = parsedOf(role)
  const found =
    program instanceof ProgramError ? refusedToday(program) : await lintProgram(role, program, context)
  return found.map((one) => ({ role: `cel/${role.name}`, ...one }))
}

async function lintProgram(role: CelRole, program: ParsedProgram, context: LintContext): Promise<Found[]> {
  const inspected = inspect(program)
  return [...findings(role, inspected, context), ...(await missingPolicies(inspected, context.policyExists))]
}

const refusedToday = ({ message }: ProgramError): Found[] =>
  when(
    true,
    'cel_invalid_program',
    `every login is refused, because the program is not accepted: ${excerpt(message)}`,
  )

/** An earlier version may have stored what this one refuses. */
function parsedOf({ program }: CelRole): ParsedProgram | ProgramError {
  try {
    return checkedProgram(program)
  } catch (error) {
    if (error instanceof ProgramError) return error
    throw error
  }
}

/** What the linter looks at. */
type Inspected = {
  readonly program: ParsedProgram
  readonly all: readonly Expression[]
  /** Names of claims that the program reads. */
  readonly claims: ReadonlySet<string>
  readonly messages: readonly MessageLiteral[]
}

function inspect(program: ParsedProgram): Inspected {
  const roots = [...program.variables.map(({ parsed }) => parsed.expression), program.main.expression]
  const all = roots.flatMap(within)
  return {
    program,
    all,
    claims: new Set(all.flatMap(claimRead)),
    messages: all.filter((each) => each.kind === 'message'),
  }
}

/** An expression, what `next` finds of it, what `next` finds of that, and so on. */
function reached(expression: Expression, next: (from: Expression) => readonly Expression[]): Expression[] {
  const found = [expression]
  // grows while it is walked, because programs may nest too deep for recursion
  for (const each of found) found.push(...next(each))
  return found
}

/** An expression and all that it contains. */
const within = (expression: Expression): Expression[] => reached(expression, partsOf)

/** The values that an expression may have. */
const branchesOf = (expression: Expression): readonly Expression[] =>
  expression.kind === 'if' ? [expression.yes, expression.no] : []

/** The lists of which a list is made. */
const listsIn = (expression: Expression): readonly Expression[] =>
  expression.kind === 'call' && expression.name === '_+_' ? expression.args : branchesOf(expression)

const isClaims = (expression: Expression): boolean =>
  expression.kind === 'name' && expression.name === 'claims'

function claimRead(expression: Expression): string[] {
  if ((expression.kind === 'select' || expression.kind === 'has') && isClaims(expression.operand))
    return [expression.field]
  if (expression.kind !== 'index' || !isClaims(expression.operand)) return []
  const { index } = expression
  return index.kind === 'literal' && typeof index.value === 'string' ? [index.value] : []
}

const when = (isFound: boolean, code: Found['code'], text: string, field = 'cel_program'): Found[] =>
  isFound ? [{ code, field, text }] : []

function findings({ record }: CelRole, inspected: Inspected, { config }: LintContext): Found[] {
  const { claims, messages, program } = inspected
  const auths = messages.filter(({ name }) => name === 'pb.Auth')
  const isAudienceOpen = record.bound_audiences.length === 0 && !claims.has('aud')
  const isIssuerOpen = config?.bound_issuer === '' && !claims.has('iss')
  const isAliasMissing = auths.some(({ fields }) => !fields.some(({ name }) => name === 'alias'))
  // in the expression itself, a write refuses them
  const unknown = inspected.all.filter(isUnknownCall).map(({ name }) => name)
  const names = program.variables.map(({ name }) => name)
  const used = new Set(inspected.all.flatMap((each) => (isName(each) ? [qualifiedName(each)] : [])))
  const unused = names.filter((name) => !used.has(name))
  const repeated = names.filter((name, at) => names.indexOf(name) !== at)
  const listed = (found: readonly string[]) => `[${excerpt([...new Set(found)].sort().join(' '))}]`
  return [
    ...when(
      isAudienceOpen,
      'cel_no_audience',
      'tokens for any audience are accepted; set bound_audiences',
      'bound_audiences',
    ),
    ...when(
      config?.accept_as_token === true && record.bound_audiences.length === 0,
      'token_without_audience',
      withoutAudience,
      'bound_audiences',
    ),
    ...when(
      isIssuerOpen,
      'cel_no_issuer',
      'neither bound_issuer nor `claims.iss` ties tokens to one issuer',
      'bound_issuer',
    ),
    ...when(
      isAliasMissing,
      'cel_no_alias',
      'a login without `alias` has no entity: nothing owns what it leaves behind',
    ),
    ...when(alwaysAllows(program), 'cel_always_allows', 'no branch of the program refuses'),
    ...when(
      unknown.length > 0,
      'cel_unknown_function',
      `functions ${listed(unknown)} do not exist; calling one ends the login`,
    ),
    ...when(
      unused.length > 0,
      'cel_unused_variable',
      `variables ${listed(unused)} are evaluated, but nothing uses them`,
    ),
    ...when(
      repeated.length > 0,
      'cel_duplicate_variable',
      `of several variables ${listed(repeated)} the last one counts`,
    ),
    ...messages.flatMap(({ fields }) => fields).flatMap(smallTime),
    ...withoutEffect(messages),
    ...messages
      .filter(({ name }) => name === 'logical.Alias')
      .flatMap(({ fields }) => fields)
      .flatMap(unboundedName),
  ]
}

const isName = ({ kind }: Expression): boolean => kind === 'name' || kind === 'select'

/** Every result is a login. */
function alwaysAllows({ variables, main }: ParsedProgram): boolean {
  const allowing = new Set<string>()
  const allows = (expression: Expression): boolean => {
    if (expression.kind === 'if') return allows(expression.yes) && allows(expression.no)
    return expression.kind === 'message'
      ? expression.name === 'pb.Auth'
      : allowing.has(qualifiedName(expression) ?? '')
  }
  for (const { name, parsed } of variables)
    if (allows(parsed.expression)) allowing.add(name)
    else allowing.delete(name)
  return allows(main.expression)
}

const times: ReadonlySet<string> = new Set(['TTL', 'MaxTTL', 'period', 'explicit_max_ttl'])

function smallTime({ name, value }: MessageField): Found[] {
  const nanos = value.kind === 'literal' && typeof value.value === 'bigint' ? value.value : 0n
  const isSmall = times.has(name) && nanos > 0n && nanos < nanosOfSecond
  return when(isSmall, 'cel_small_ttl', `${name} ${nanos} is less than a second: times are nanoseconds`)
}

/** `issue_time` is not among them: other servers need it. */
const ignored: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'pb.Auth',
    ['entity_id', 'token_policies', 'identity_policies', 'client_token', 'accessor', 'internal_data'],
  ],
  ['pb.LeaseOptions', ['increment']],
  ['logical.Alias', ['mount_accessor', 'mount_type', 'ID', 'namespace_id', 'local', 'custom_metadata']],
])

function withoutEffect(messages: readonly MessageLiteral[]): Found[] {
  const idle = messages.flatMap(({ name, fields }) =>
    fields.filter((field) => ignored.get(name)?.includes(field.name)).map((field) => `${name}.${field.name}`),
  )
  const text = `[${[...new Set(idle)].sort().join(' ')}] have no effect`
  return when(idle.length > 0, 'cel_no_effect', text)
}

function unboundedName({ name, value }: MessageField): Found[] {
  const [claim = ''] = name === 'name' ? claimRead(value) : []
  return when(
    claimsOfOneRun.has(claim),
    'unbounded_alias',
    `claim ${claim} differs with each run; every login makes an entity`,
  )
}

/** Only names that the program has as they are. */
async function missingPolicies(
  { messages }: Inspected,
  exists: LintContext['policyExists'],
): Promise<Found[]> {
  const lists = messages
    .flatMap(({ fields }) => fields)
    .filter(({ name }) => name === 'policies')
    .flatMap(({ value }) => reached(value, listsIn))
  const items = lists.flatMap((each) => (each.kind === 'list' ? each.items : []))
  const names = items
    .flatMap(({ value }) => reached(value, branchesOf))
    .flatMap((each) => (each.kind === 'literal' && typeof each.value === 'string' ? [each.value] : []))
  const text = await policiesMissing({ token_policies: names }, exists)
  return when(text !== '', 'policy_missing', text)
}
