import { lazy, Suspense, useState } from 'react'
import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components/Tabs'
import { ApiError } from '../api/errors.ts'
import type { Mounts, SealStatus } from '../api/server.ts'
import { Button } from '../components/button.tsx'
import { Failure } from '../components/failure.tsx'
import { Field } from '../components/field.tsx'
import { Select } from '../components/select.tsx'
import { Messages } from '../messages/messages.tsx'
import { setNamespace, useNamespace } from '../session/namespace.ts'
import type { SessionEnd } from '../session/session.ts'
import { strings } from '../strings.ts'
import { loginTypes, MethodForm, type Mounted, TokenForm } from './methods.tsx'
import { ForeignLogin, type OidcReturn } from './oidc.ts'
import { type ServerState, useServer } from './use-server.ts'

const text = strings.login
const SealDesk = lazy(async () => ({ default: (await import('./seal-desk.tsx')).SealDesk }))

type Props = {
  /** A login that came back from its provider, and was refused. */
  readonly refused?: { readonly from: OidcReturn; readonly error: unknown } | undefined
  readonly lastEnd?: SessionEnd | undefined
}

export function LoginPage({ refused, lastEnd }: Props) {
  const { server, again } = useServer()
  const [held, setHeld] = useState<SealStatus>()
  const seal = held ?? (server.kind === 'closed' ? server.seal : undefined)
  const [failure, setFailure] = useState(refused)
  return (
    <div className="login">
      <Messages audience="unauthenticated" />
      <main className="login-card">
        <p className="wordmark">{strings.product}</p>
        <h1>
          {seal === undefined ? text.title : seal.initialized ? strings.seal.title : strings.seal.newTitle}
        </h1>
        {lastEnd !== undefined && failure === undefined && (
          <p className="note" role="status">
            {text.ends[lastEnd]}
          </p>
        )}
        {failure !== undefined ? (
          <RefusedLogin {...failure} onAgain={() => setFailure(undefined)} />
        ) : seal !== undefined ? (
          <Suspense fallback={<Waiting state="asking" />}>
            <SealDesk status={seal} hold={(isHeld) => setHeld(isHeld ? seal : undefined)} again={again} />
          </Suspense>
        ) : server.kind === 'ready' ? (
          <>
            <NamespaceField />
            <Methods mounts={server.mounts} />
          </>
        ) : (
          server.kind !== 'closed' && <Waiting state={server.kind} />
        )}
      </main>
    </div>
  )
}

/** A provider's login that failed: why, in words and in the server's own, and another try. */
function RefusedLogin({
  from,
  error,
  onAgain,
}: {
  readonly from: OidcReturn
  readonly error: unknown
  readonly onAgain: () => void
}) {
  const { error: code, error_description: description } = from.query
  return (
    <section>
      <h2>{text.failed}</h2>
      <p>{causeOf(error, code)}</p>
      {code !== undefined && (
        <p className="mono">{description === undefined ? code : `${code}: ${description}`}</p>
      )}
      {!(error instanceof ForeignLogin) && <Failure error={error} />}
      <Button kind="primary" autoFocus onPress={onAgain}>
        {strings.tryAgain}
      </Button>
    </section>
  )
}

function causeOf(error: unknown, code: string | undefined): string {
  const said = error instanceof ApiError ? error.errors.join(' ') : ''
  if (code === 'access_denied') return text.causes.denied
  if (error instanceof ForeignLogin) return text.causes.nonce
  if (said.includes('OAuth state')) return text.causes.state
  if (said.includes('client_nonce')) return text.causes.nonce
  if (error instanceof ApiError && (error.status === 0 || error.status >= 500)) return text.causes.unavailable
  return code === undefined ? text.causes.role : text.causes.denied
}

function Waiting({ state }: { readonly state: Exclude<ServerState['kind'], 'ready' | 'closed'> }) {
  const s = strings.serverState
  const [title, next] = {
    asking: [strings.loading, ''],
    starting: [s.starting, s.startingNext],
    storage: [s.storage, s.storageNext],
    away: [strings.errors.noServer, strings.errors.noServerNext],
  }[state]
  return (
    <section role="status">
      <h2>{title}</h2>
      <p>{next}</p>
    </section>
  )
}

function NamespaceField() {
  const namespace = useNamespace()
  const [draft, setDraft] = useState(namespace)
  const take = () => setNamespace(draft.trim().replace(/^\/+|\/+$/g, ''))
  return (
    <Field
      label={text.namespace}
      optional
      hint={text.namespaceHint}
      value={draft}
      onChange={setDraft}
      onBlur={take}
      onKeyDown={(event) => {
        if (event.key === 'Enter') take()
      }}
    />
  )
}

const nameOf = (type: string): string => text.methodNames[type] ?? type

function Methods({ mounts }: { readonly mounts: Mounts }) {
  const listed = Object.entries(mounts.auth)
    .filter(([, { type }]) => loginTypes.some((one) => one === type))
    .map(([path, { type, description }]) => ({ path: path.replace(/\/$/, ''), type, description }))
  return (
    <Tabs className="tabs" key={listed.map(({ path }) => path).join()}>
      <TabList aria-label={text.methods} className="tab-list">
        {listed.map(({ path, type, description }) => (
          <Tab id={`mount:${path}`} key={path} className="tab">
            {description || (path === type ? nameOf(type) : path)}
          </Tab>
        ))}
        <Tab id="token" className="tab">
          {nameOf('token')}
        </Tab>
        <Tab id="other" className="tab">
          {text.other}
        </Tab>
      </TabList>
      {listed.map(({ path, type }) => (
        <TabPanel id={`mount:${path}`} key={path} className="tab-panel">
          <MethodForm type={type} path={path} />
        </TabPanel>
      ))}
      <TabPanel id="token" className="tab-panel">
        <TokenForm />
      </TabPanel>
      <TabPanel id="other" className="tab-panel">
        <OtherMount />
      </TabPanel>
    </Tabs>
  )
}

/** A mount that is not shown to everyone: people know its path. */
function OtherMount() {
  const [mounted, setMounted] = useState<Mounted>({ type: 'oidc', path: 'oidc' })
  return (
    <>
      <Select
        label={text.method}
        value={mounted.type}
        onChange={(type) => setMounted({ type, path: type })}
        options={loginTypes.map((type) => [type, nameOf(type)])}
      />
      <Field
        label={text.mountPath}
        hint={text.mountPathHint}
        isRequired
        value={mounted.path}
        onChange={(path) => setMounted({ ...mounted, path })}
      />
      <MethodForm
        key={mounted.type}
        type={mounted.type}
        path={mounted.path.replace(/^\/+|\/+$/g, '')}
        hasJwt={mounted.type === 'jwt'}
      />
    </>
  )
}
