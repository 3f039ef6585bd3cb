import { useState } from 'react'
import { writeLoginConfig } from '../../api/logins.ts'
import { FieldsForm, listOf } from '../../components/fields-form.tsx'
import { Select } from '../../components/select.tsx'
import { usePolicyChoices } from '../../shell/people.ts'
import { strings } from '../../strings.ts'
import { enableLogin, type StepRun, writeCiRole } from './calls.ts'
import { ciPresets } from './ci-presets.ts'

const text = strings.home.steps

/** A login for the jobs of one project of a CI system. */
export function CiLogin({ run }: { readonly run: StepRun }) {
  const [name, setName] = useState(ciPresets[0]?.name ?? '')
  const policies = usePolicyChoices()
  const preset = ciPresets.find((one) => one.name === name)
  if (preset === undefined) return null
  return (
    <FieldsForm
      key={name}
      title={text.ci.form}
      action={text.enable}
      fields={[
        { name: 'path', label: text.path, isRequired: true, initial: preset.mount },
        { name: 'oidc_discovery_url', label: text.issuer, isRequired: true, initial: preset.issuer },
        { name: 'owner', label: preset.owner, hint: text.ownerHint, isRequired: true },
        { name: 'project', label: preset.project, hint: text.projectHint, isRequired: true },
        { name: 'bound_audiences', label: text.audience, isRequired: true, initial: 'gatehouse' },
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
              role_type: 'jwt',
              bound_audiences: listOf(value('bound_audiences')),
              bound_claims: { [preset.owner]: value('owner'), [preset.project]: value('project') },
              user_claim: preset.userClaim,
              token_policies: listOf(value('token_policies')),
              token_ttl: '15m',
            },
          })
        })
      })}
    >
      <Select
        label={text.system}
        value={name}
        onChange={setName}
        options={ciPresets.map((one) => [one.name, one.name])}
      />
    </FieldsForm>
  )
}
