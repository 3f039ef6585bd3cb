import { cloudSettings } from './cloud.ts'
import { settings } from './settings.ts'

/**
 * The settings that the environment has, for people who help: `(set)` instead of a secret, and of the user
 * and password in a URL.
 */
export function shownSettings(environment: Readonly<Record<string, string | undefined>>): object {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value = '']) => {
      if (!shownNames.test(name) || isForeign(name)) return []
      return [[name, isSecret(name) ? '(set)' : value.replace(/:\/\/\S*@/g, '://(set)@')]]
    }),
  )
}

export const secretValues = (environment: Readonly<Record<string, string | undefined>>): string[] =>
  Object.entries(environment).flatMap(([name, value = '']) =>
    shownNames.test(name) && isSecret(name) && value !== '' ? [value] : [],
  )

const shownNames = /^(?:GATEHOUSE|CLOUD|OTEL|IDENTITY)_|^AZURE_FEDERATED_TOKEN_FILE$|^(?:https?|no)_proxy$/i

/** Another program's, whose secrets nobody here knows by name. */
const isForeign = (name: string): boolean =>
  /^(?:CLOUD|IDENTITY)_/.test(name) && Object.values(cloudSettings).every((entry) => entry.name !== name)

/** Names of secrets that other programs define, and names that are unknown here. */
const secretName = /SECRET|PASSWORD|TOKEN|KEY|HEADERS|CREDENTIAL/

function isSecret(name: string): boolean {
  const known =
    Object.values(settings).find((entry) => `GATEHOUSE_${entry.name}` === name) ??
    Object.values(cloudSettings).find((entry) => entry.name === name)
  return known?.secret ?? (secretName.test(name) && !name.endsWith('_FILE'))
}
