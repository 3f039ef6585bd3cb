import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import * as v from 'valibot'
import { loginConfig, writeLoginConfig } from '../../api/logins.ts'
import { Confirm } from '../../components/confirm.tsx'
import { Command } from '../../components/copy-as.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { shortDuration } from '../../components/time.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { strings } from '../../strings.ts'

const text = strings.logins.asToken

type Props = { readonly mount: string; readonly role: string }

/** What the switch depends on. */
const settings = v.object({
  accept_as_token: v.boolean(),
  bound_issuer: v.string(),
  token_max_lifetime: v.number(),
  oidc_client_id: v.string(),
  oidc_public_client: v.boolean(),
  provider_config: v.record(v.string(), v.unknown()),
})
type Settings = v.InferOutput<typeof settings>

/** Whether a JWT for this role may be the token of a request, what that means, and the switch, which is the mount's. */
export function AsToken({ mount, role }: Props) {
  const path = `auth/${mount}/config`
  const { can } = useCapabilities([path])
  const { data, error } = useQuery({
    queryKey: ['login-config', mount],
    queryFn: ({ signal }) => loginConfig({ params: { jwt_mount_path: mount } }, { signal }),
    enabled: can(path, 'read'),
  })
  if (error !== null) return <Failure error={error} />
  if (data === undefined) return null
  const config = v.parse(settings, data.data)
  const { accept_as_token: isOn, token_max_lifetime: longest } = config
  return (
    <section className="stack" aria-labelledby="as-token">
      <h3 id="as-token">{text.title}</h3>
      <p>
        <strong>{isOn ? text.on : text.off}</strong> {text.meaning}
      </p>
      <p className="hint">{text.risk(longest === 0 ? '' : shortDuration(longest))}</p>
      <Command name="curl" text={`curl -H "X-Vault-Token: $JWT" -H "X-Gatehouse-Role: ${role}" …`} />
      {can(path, 'update') && <Switch mount={mount} config={config} />}
    </section>
  )
}

function Switch({ mount, config }: { readonly mount: string; readonly config: Settings }) {
  const client = useQueryClient()
  const [secret, setSecret] = useState('')
  if (config.bound_issuer === '') return <p className="hint">{text.needsIssuer}</p>
  // nobody can read the secrets among these, and a write replaces them
  if (Object.keys(config.provider_config).length > 0) return <p className="hint">{text.needsCommand}</p>
  const needsSecret = config.oidc_client_id !== '' && !config.oidc_public_client
  const isOn = config.accept_as_token
  const change = async () => {
    const params = { jwt_mount_path: mount }
    const { status: _read, ...stored } = (await loginConfig({ params })).data
    await writeLoginConfig({
      params,
      body: { ...stored, accept_as_token: !isOn, ...(needsSecret && { oidc_client_secret: secret }) },
    })
    setSecret('')
    for (const key of ['login-config', 'login-config-or-none', 'login-lint', 'login-status'])
      await client.invalidateQueries({ queryKey: [key, mount] })
  }
  return (
    <div className="actions">
      <Confirm
        label={isOn ? text.turnOff : text.turnOn}
        question={isOn ? text.offQuestion(mount) : text.onQuestion(config.bound_issuer)}
        action={isOn ? text.turnOff : text.turnOn}
        onConfirmed={change}
      >
        <p>{isOn ? text.offHint : text.onHint(mount)}</p>
        {needsSecret && (
          <Field
            label={text.secret}
            hint={text.secretHint}
            type="password"
            autoComplete="off"
            value={secret}
            onChange={setSecret}
          />
        )}
      </Confirm>
    </div>
  )
}
