import { useState } from 'react'
import { writeLoginConfig } from '../../api/logins.ts'
import { FieldsForm, listOf } from '../../components/fields-form.tsx'
import { Select } from '../../components/select.tsx'
import { usePolicyChoices } from '../../shell/people.ts'
import { strings } from '../../strings.ts'
import { presets } from '../logins/editor/presets.ts'
import { enableLogin, type StepRun, writeCiRole } from './calls.ts'

const text = strings.home.steps

/** A login for the jobs of one project of a CI system. */
export function CiLogin({ run }: { readonly run: StepRun }) {
  const all = Object.entries(presets('')).filter(([, { role }]) => role['role_type'] === 'jwt')
  const [name, setName] = useState(all[0]?.[0] ?? '')
  const policies = usePolicyChoices()
  const preset = all.find(([one]) => one === name)?.[1]
  if (preset === undefined) return null
  const claims = Object.entries(preset.role['bound_claims'] ?? {})
  return (
    <FieldsForm
      key={name}
      title={text.ci.form}
      action={text.enable}
      fields={[
        { name: 'path', label: text.path, isRequired: true, initial: name },
        {
          name: 'oidc_discovery_url',
          label: text.issuer,
          isRequired: true,
          initial: String(preset.config['oidc_discovery_url']),
        },
        ...claims.map(([claim, value]) => ({
          name: claim,
          label: claim,
          isRequired: true,
          initial: String(value),
        })),
        {
          name: 'bound_audiences',
          label: text.audience,
          isRequired: true,
          picks: { choices: undefined },
          initial: String(preset.role['bound_audiences']),
        },
        { name: 'role', label: text.role, isRequired: true, initial: 'ci' },
        { name: 'token_policies', label: text.policies, picks: { choices: policies, allowsOther: true } },
      ]}
      run={run(async (value) => {
        const mount = { jwt_mount_path: value('path') }
        const issuer = value('oidc_discovery_url')
        await enableLogin(value('path'), { type: 'jwt' }, async () => {
          await writeLoginConfig({
            params: mount,
            body: { oidc_discovery_url: issuer, bound_issuer: issuer, default_role: value('role') },
          })
          await writeCiRole({
            params: { ...mount, name: value('role') },
            body: {
              ...preset.role,
              bound_audiences: listOf(value('bound_audiences')),
              bound_claims: Object.fromEntries(claims.map(([claim]) => [claim, value(claim)])),
              token_policies: listOf(value('token_policies')),
            },
          })
        })
      })}
    >
      <Select
        label={text.system}
        value={name}
        onChange={setName}
        options={all.map(([one, { label }]) => [one, label])}
      />
    </FieldsForm>
  )
}
