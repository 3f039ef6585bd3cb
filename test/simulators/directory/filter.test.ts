import { expect, test } from 'vitest'
import { matches } from '../../../simulators/directory/access.ts'
import { readFilter } from '../../../simulators/directory/filter.ts'
import { covers, tidyScope } from '../../../simulators/directory/scope.ts'

const names = ['appId', 'displayName', 'tags']
const thing = { appId: 'A1', displayName: "It's & one", tags: ['gatehouse:m1:c1', 'Team:web'] }

test.each([
  { filter: "displayName eq 'it''s & one'", holds: true },
  { filter: "displayName eq 'it'", holds: false },
  { filter: "appId eq 'a1'", holds: true },
  { filter: "startswith(displayName,'it''s')", holds: true },
  { filter: "startsWith(displayName, 'one')", holds: false },
  { filter: "tags/any(t:t eq 'team:web')", holds: true },
  { filter: "tags/any(tag:tag eq 'team')", holds: false },
  { filter: "tags/any(t:startswith(t,'gatehouse:m1:'))", holds: true },
  { filter: "tags/any(t:startswith(t,'gatehouse:m2:'))", holds: false },
  { filter: "appId eq 'a1' and tags/any(t:startswith(t,'team'))", holds: true },
  { filter: "appId eq 'a1' and displayName eq ''", holds: false },
])('the filter $filter matches: $holds', ({ filter, holds }) => {
  expect(readFilter(filter, names)(thing)).toBe(holds)
})

test.each([
  '',
  'displayName',
  "displayName eq 'a",
  "displayName eq 'it's'",
  "displayName ne 'a'",
  "secretText eq 'a'",
  "displayName eq 'a' or appId eq 'b'",
  "displayName eq 'a' and ",
  "displayName eq 'a'appId eq 'b'",
  "tags/any(t:s eq 'a')",
])('%j is refused', (filter) => {
  expect(() => readFilter(filter, names)).toThrow('Invalid filter clause')
})

test.each([
  { pattern: '*', action: 'Microsoft.Authorization/roleAssignments/write', is: true },
  { pattern: '*/read', action: 'Microsoft.Resources/subscriptions/read', is: true },
  { pattern: '*/read', action: 'Microsoft.Resources/subscriptions/readAll', is: false },
  {
    pattern: 'Microsoft.Authorization/*/Write',
    action: 'microsoft.authorization/roleassignments/write',
    is: true,
  },
  { pattern: 'Microsoft.Authorization/*/Write', action: 'Microsoft.Authorization/write', is: false },
  { pattern: 'a*b*c', action: 'a-b-c', is: true },
  { pattern: 'a*b*c', action: 'a-c', is: false },
  { pattern: 'ab*bc', action: 'abc', is: false },
  { pattern: 'exact', action: 'exact', is: true },
  { pattern: 'exact', action: 'exactly', is: false },
])('the pattern $pattern allows $action: $is', ({ pattern, action, is }) => {
  expect(matches(pattern, action)).toBe(is)
})

test.each([
  { outer: '/', inner: '/subscriptions/a', does: true },
  { outer: '/subscriptions/a', inner: '/subscriptions/A/resourceGroups/web', does: true },
  { outer: '/subscriptions/a', inner: '/subscriptions/ab', does: false },
  { outer: '/subscriptions/a/resourceGroups/web', inner: '/subscriptions/a', does: false },
])('the scope $outer covers $inner: $does', ({ outer, inner, does }) => {
  expect(covers(outer, inner)).toBe(does)
})

test.each(['/a/b', 'a/b', '//a/b/', 'a//b'])('%s is normalised', (scope) => {
  expect(tidyScope(scope)).toBe('/a/b')
})
