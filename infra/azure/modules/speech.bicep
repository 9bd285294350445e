// The Azure AI resource that speaks in the calls. It accepts identities only. Before the first AI resource of a subscription, a person must accept
// the Responsible AI terms in the portal (phone.md).
param name string
param location string
param tags object

@description('The identity of the Communication Services resource, which lets it speak.')
param communicationPrincipalId string

var cognitiveServicesUser = 'a97b65f3-24c7-4388-baec-2e87135dc908'

// Call Automation's speech needs this kind, and the custom subdomain, without which no identity works.
resource speech 'Microsoft.CognitiveServices/accounts@2025-06-01' = {
  name: name
  location: location
  tags: tags
  kind: 'CognitiveServices'
  sku: { name: 'S0' }
  properties: {
    customSubDomainName: name
    disableLocalAuth: true
    // Communication Services reaches it from outside, even if the app is in a network.
    publicNetworkAccess: 'Enabled'
  }
}

// Without this role calls connect and stay silent (8565, 8567).
resource communicationSpeaks 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(speech.id, communicationPrincipalId, cognitiveServicesUser)
  scope: speech
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', cognitiveServicesUser)
    principalId: communicationPrincipalId
    principalType: 'ServicePrincipal'
  }
}

output endpoint string = speech.properties.endpoint
