import { type FormEvent, type ReactNode, useId, useState } from 'react'
import { approleLogin, jwtLogin, lookupSelf, userpassLogin } from '../api/auth.ts'
import { ApiError } from '../api/errors.ts'
import { Button } from '../components/button.tsx'
import { Failure } from '../components/failure.tsx'
import { Field } from '../components/field.tsx'
import { session } from '../session/session.ts'
import { strings } from '../strings.ts'
import { beginOidc } from './oidc.ts'

const text = strings.login

/** A login method at a mount. */
export type Mounted = { readonly type: string; readonly path: string }

/** Fields of a form as they were submitted. */
type Values = (name: string) => string

/** Returns the token, or undefined if the login continues elsewhere. */
type LogIn = (values: Values) => Promise<string | undefined>

type FormProps = { readonly submit: string; readonly logIn: LogIn; readonly children: ReactNode }

/** A form that ends in a session, or in the server's own words. */
function LoginForm({ submit, logIn, children }: FormProps) {
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const onSubmit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (isBusy) return
    const form = new FormData(event.currentTarget)
    setBusy(true)
    setError(undefined)
    try {
      // blanks around a password belong to it
      const value = (name: string) => String(form.get(name) ?? '')
      const token = await logIn((name) => (name === 'password' ? value(name) : value(name).trim()))
      if (token !== undefined) session.begin(token)
    } catch (failure) {
      setError(failure)
      setBusy(false)
    }
  }
  return (
    <form className="login-form" onSubmit={onSubmit} autoComplete="off">
      {children}
      <Failure
        error={error instanceof ApiError || error === undefined ? error : (error as Error).message}
        title={text.failed}
      />
      <Button kind="primary" type="submit">
        {isBusy ? text.working : submit}
      </Button>
    </form>
  )
}

export const TokenForm = () => (
  <LoginForm
    submit={text.submit}
    logIn={async (value) => {
      await lookupSelf({}, { token: value('token') })
      return value('token')
    }}
  >
    <Field label={text.token} name="token" type="password" isRequired autoComplete="off" />
  </LoginForm>
)

const UserpassForm = ({ path }: { readonly path: string }) => (
  <LoginForm
    submit={text.submit}
    logIn={async (value) => {
      const params = { userpass_mount_path: path, username: value('username') }
      const { auth } = await userpassLogin({ params, body: { password: value('password') } }, { token: null })
      return auth.client_token
    }}
  >
    <Field label={text.username} name="username" isRequired autoComplete="username" />
    <Field label={text.password} name="password" type="password" isRequired autoComplete="current-password" />
  </LoginForm>
)

const ApproleForm = ({ path }: { readonly path: string }) => (
  <LoginForm
    submit={text.submit}
    logIn={async (value) => {
      const body = { role_id: value('role_id'), secret_id: value('secret_id') }
      const { auth } = await approleLogin({ params: { approle_mount_path: path }, body }, { token: null })
      return auth.client_token
    }}
  >
    <Field label={text.roleId} name="role_id" isRequired />
    <Field label={text.secretId} name="secret_id" type="password" optional autoComplete="off" />
  </LoginForm>
)

const jwtOnlyText = 'OIDC login is not configured for this mount'

/** Through the provider, or with a JWT that the person has. */
function JwtForm({ path, hasJwt }: { readonly path: string; readonly hasJwt: boolean }) {
  const [pastes, setPastes] = useState(hasJwt)
  const [isJwtOnly, setJwtOnly] = useState(false)
  const note = useId()
  const logIn: LogIn = async (value) => {
    const role = value('role')
    if (pastes) {
      const body = { ...(role !== '' && { role }), jwt: value('jwt') }
      const { auth } = await jwtLogin({ params: { jwt_mount_path: path }, body }, { token: null })
      return auth.client_token
    }
    try {
      await beginOidc(path, role)
    } catch (error) {
      if (error instanceof ApiError && error.errors.includes(jwtOnlyText)) {
        setJwtOnly(true)
        setPastes(true)
      }
      throw error
    }
    return undefined
  }
  return (
    <>
      {isJwtOnly && (
        <p id={note} className="note">
          {text.jwtOnly}
        </p>
      )}
      <LoginForm key={String(pastes)} submit={pastes ? text.submit : text.continueWithProvider} logIn={logIn}>
        <Field label={text.role} name="role" optional hint={text.roleHint} />
        {pastes && <Field label={text.jwt} name="jwt" rows={4} mono isRequired hint={text.jwtHint} />}
      </LoginForm>
      {!isJwtOnly && (
        <Button kind="quiet" onPress={() => setPastes(!pastes)}>
          {pastes ? text.useProvider : text.pasteJwt}
        </Button>
      )}
    </>
  )
}

/** The types of mounts that people can log in to. */
export const loginTypes = ['oidc', 'jwt', 'userpass', 'approle'] as const

/** `hasJwt`: the person has said so. */
export function MethodForm({ type, path, hasJwt = false }: Mounted & { readonly hasJwt?: boolean }) {
  if (type === 'userpass') return <UserpassForm path={path} />
  if (type === 'approle') return <ApproleForm path={path} />
  if (type === 'oidc' || type === 'jwt') return <JwtForm path={path} hasJwt={hasJwt} />
  return <TokenForm />
}
