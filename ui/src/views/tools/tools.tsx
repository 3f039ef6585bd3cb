import { type ReactNode, useId, useState } from 'react'
import { parseJson } from '../../api/json.ts'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { Secret } from '../../components/secret.tsx'
import { Select } from '../../components/select.tsx'
import { shortDuration, Time } from '../../components/time.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { type Can, useCapabilities } from '../../shell/capabilities.ts'
import { strings } from '../../strings.ts'
import { hash, lookUp, randomBytes, unwrap, wrap } from './calls.ts'
import './tools.css'
import { useAction } from '../../components/use-action.ts'

const text = strings.tools

const paths = {
  wrap: 'sys/wrapping/wrap',
  unwrap: 'sys/wrapping/unwrap',
  lookUp: 'sys/wrapping/lookup',
  random: 'sys/tools/random',
  hash: 'sys/tools/hash',
} as const

export function View() {
  const { can } = useCapabilities(Object.values(paths))
  const may = (name: keyof typeof paths) => mayWrite(can, paths[name])
  return (
    <div className="view">
      <ViewHeader
        title={strings.views['tools'] ?? ''}
        requests={[
          wrap.request({ body: { example: 'value' }, wrapTtl: '5m' }),
          lookUp.request({ body: { token: 'hvs.…' } }),
          unwrap.request({ body: { token: 'hvs.…' } }),
          randomBytes.request({ body: { bytes: 32, format: 'base64' } }),
          hash.request({ body: { input: 'aGVsbG8=', algorithm: 'sha2-256' } }),
        ]}
      />
      <div className="tools">
        {may('wrap') && <Wrap />}
        {may('unwrap') && <Unwrap />}
        {may('lookUp') && <LookUp />}
        {may('random') && <Random />}
        {may('hash') && <Hash />}
      </div>
    </div>
  )
}

const mayWrite = (can: Can, path: string): boolean => can(path, 'update') || can(path, 'create')

type ToolProps<Result> = {
  readonly title: string
  readonly about: string
  readonly action: string
  readonly run: () => Promise<Result>
  readonly children: ReactNode
  readonly shown: (result: Result) => ReactNode
}

/** One tool: its fields, a button, and what came out. */
function Tool<Result>({ title, about, action, run, children, shown }: ToolProps<Result>) {
  const id = useId()
  const [outcome, setOutcome] = useState<{ readonly result?: Result; readonly error?: unknown }>({})
  const submit = useAction(async () => {
    try {
      setOutcome({ result: await run() })
    } catch (error) {
      setOutcome({ error })
    }
  })
  return (
    <section className="panel" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <p className="hint">{about}</p>
      <form className="tool" onSubmit={(event) => void submit(event)} autoComplete="off">
        {children}
        <div className="actions">
          <Button type="submit">{action}</Button>
        </div>
      </form>
      <Failure error={outcome.error} />
      <div role="status">{outcome.result !== undefined && shown(outcome.result)}</div>
    </section>
  )
}

function Wrap() {
  const [body, setBody] = useState('{\n  "password": ""\n}')
  const [ttl, setTtl] = useState('30m')
  return (
    <Tool
      title={text.wrap}
      about={text.wrapAbout}
      action={text.wrap}
      run={async () => (await wrap({ body: objectOf(body), wrapTtl: ttl })).wrap_info}
      shown={({ token, ttl: seconds }) => (
        <dl className="facts">
          <dt>{text.wrappingToken}</dt>
          <dd>
            <Secret value={token} label={text.wrappingToken} />
          </dd>
          <dt>{text.validFor}</dt>
          <dd>{shortDuration(seconds)}</dd>
        </dl>
      )}
    >
      <Field label={text.data} hint={text.dataHint} rows={4} mono value={body} onChange={setBody} />
      <Field label={text.validFor} hint={text.ttlHint} value={ttl} onChange={setTtl} />
    </Tool>
  )
}

function objectOf(json: string): Record<string, unknown> {
  let value: unknown
  try {
    value = parseJson(json)
  } catch {
    throw new Error(text.notObject)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(text.notObject)
  return value as Record<string, unknown>
}

function Unwrap() {
  const [token, setToken] = useState('')
  return (
    <Tool
      title={text.unwrap}
      about={text.unwrapAbout}
      action={text.unwrap}
      run={async () => {
        const { data, auth } = await unwrap({ body: { token: token.trim() } })
        setToken('')
        return JSON.stringify(auth ?? data ?? null, undefined, 2)
      }}
      shown={(value) => <Secret value={value} label={text.unwrapped} />}
    >
      <Field label={text.tokenToUnwrap} type="password" isRequired mono value={token} onChange={setToken} />
    </Tool>
  )
}

function LookUp() {
  const [token, setToken] = useState('')
  return (
    <Tool
      title={text.lookUp}
      about={text.lookUpAbout}
      action={text.lookUp}
      run={async () => (await lookUp({ body: { token: token.trim() } })).data}
      shown={({ creation_path: path, creation_time: at, creation_ttl: ttl }) => (
        <dl className="facts">
          <dt>{text.madeBy}</dt>
          <dd className="mono">{path}</dd>
          <dt>{text.madeAt}</dt>
          <dd>
            <Time at={at} />
          </dd>
          <dt>{text.validFor}</dt>
          <dd>{shortDuration(ttl)}</dd>
        </dl>
      )}
    >
      <Field label={text.tokenToLookUp} type="password" isRequired mono value={token} onChange={setToken} />
    </Tool>
  )
}

function Random() {
  const [bytes, setBytes] = useState('32')
  const [format, setFormat] = useState<string>('base64')
  return (
    <Tool
      title={text.random}
      about={text.randomAbout}
      action={text.generate}
      run={async () => (await randomBytes({ body: { bytes: Number(bytes), format } })).data.random_bytes}
      shown={(value) => <Secret value={value} label={text.random} />}
    >
      <Field label={text.bytes} type="number" value={bytes} onChange={setBytes} />
      <Select label={text.format} options={options(['base64', 'hex'])} value={format} onChange={setFormat} />
    </Tool>
  )
}

const algorithms = ['sha2-224', 'sha2-256', 'sha2-384', 'sha2-512'] as const

function Hash() {
  const [input, setInput] = useState('')
  const [algorithm, setAlgorithm] = useState<string>('sha2-256')
  const [format, setFormat] = useState<string>('hex')
  return (
    <Tool
      title={text.hash}
      about={text.hashAbout}
      action={text.hash}
      run={async () =>
        (await hash({ body: { input: new TextEncoder().encode(input).toBase64(), algorithm, format } })).data
          .sum
      }
      shown={(sum) => <code>{sum}</code>}
    >
      <Field label={text.input} rows={2} mono value={input} onChange={setInput} />
      <Select
        label={text.algorithm}
        options={options(algorithms)}
        value={algorithm}
        onChange={setAlgorithm}
      />
      <Select label={text.format} options={options(['hex', 'base64'])} value={format} onChange={setFormat} />
    </Tool>
  )
}

const options = (values: readonly string[]) => values.map((value) => [value, value] as const)
